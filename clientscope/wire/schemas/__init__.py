"""The schemas of KIP-1324's messages, in the form of Kafka's own."""
