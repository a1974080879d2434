"""What a cluster's brokers say of themselves: their software, and the API versions that they serve (KIP-35, KIP-885)."""
