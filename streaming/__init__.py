"""The Spark Structured Streaming job: steps from DataFrame to DataFrame, and what runs them."""
