"""Vectorised decoder: bytes of a topic's records into Arrow columns, or the reason for a failure; one batch, any mix of versions."""
