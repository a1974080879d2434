"""Checkpoints on disk: which version wrote each, whether it is intact, and where a query begins. No Spark: nothing starts a JVM."""
