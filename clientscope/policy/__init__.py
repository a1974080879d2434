"""What becomes of a pushed configuration: the interface of a ClientConfigPolicy (KIP-1324), the default one, redaction."""
