"""Policy for pushed configurations: the interface ClientConfigPolicy (KIP-1324), the default implementation, redaction."""
