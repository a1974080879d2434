"""Records of clientscope's topics: their schemas, the reference codec, their keys."""
