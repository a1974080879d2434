"""The job under load: ``make bench-stream``."""
