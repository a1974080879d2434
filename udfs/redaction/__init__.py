"""Redaction: which strings of a record may not be stored, and the columns without them."""
