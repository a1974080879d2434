"""A connection's protocol without I/O: what each frame of either side means, and what is to be done."""
