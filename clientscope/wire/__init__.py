"""Kafka's wire format, as far as the gateway reads it: frames, messages, PushConfig, error codes."""
