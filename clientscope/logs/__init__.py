"""Logs of clients and brokers: files read a line at a time, the layouts of log collectors, and Kafka's request log."""
