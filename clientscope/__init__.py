"""clientscope: which clients connect to your Kafka, in which versions, configured how."""

__version__ = "0.1.0"
