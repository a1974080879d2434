"""The queries: each from its source through its steps to its sink, with a checkpoint of its own."""
