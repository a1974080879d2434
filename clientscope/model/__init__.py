"""The nouns: records of the topics as dataclasses, what reads and writes them, their JSON Schemas, and the topics themselves."""
