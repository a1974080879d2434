"""``clientscope findings``: reading them from their topic, choosing, showing, and writing down what people decide."""
