"""clientscope: shows which clients connect to a Kafka cluster, in which versions and with which configuration."""

__version__ = "0.1.0"
