"""Parts of ``clientscope history clients | starts | diff``: the range of time, questions to serve, and how the answers are shown."""
