"""The records' schemas, in the form of Kafka's own messages; a released version never changes."""
