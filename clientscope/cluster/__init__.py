"""Brokers of a cluster: their software, and the API versions that they advertise (KIP-35, KIP-885)."""
