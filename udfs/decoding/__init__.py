"""Bytes of a topic's records into Arrow columns, or the reason why not: a batch at a time, of whatever versions."""
