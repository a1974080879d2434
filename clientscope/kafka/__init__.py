"""Access of clientscope's own processes to Kafka: settings, admin client, one reader, one writer, one group.

What works around kafka-python is here alone, but for the connections that clients push over (`clientscope.client`). Each module lists
what it works around, with its place in release 3.0.12 and what would make it unnecessary.
"""
