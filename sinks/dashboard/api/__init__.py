"""The JSON API and ``/metrics``: FastAPI's application (`app`), its routes, the event stream, exports, and decisions."""
