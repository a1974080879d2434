"""The Spark Structured Streaming job: DataFrame to DataFrame, and the wiring."""
