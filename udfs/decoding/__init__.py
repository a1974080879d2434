"""Vectorised decoder: bytes of a batch of a topic's records into Arrow columns, or the reason for a failure."""
