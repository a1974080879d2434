"""Which strings of a record may not be written down, and the columns without them."""
