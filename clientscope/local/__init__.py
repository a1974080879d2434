"""Kafka on this machine, for the demo and the tests: jars, Java, an embedded broker, child processes."""
