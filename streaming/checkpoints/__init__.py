"""What lies on disk for each query: what wrote it, whether it is whole, and where a query begins.  No Spark here: nothing starts a JVM."""
