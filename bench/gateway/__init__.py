"""The gateway beside a direct connection and beside another proxy, in one run: ``make bench-gateway``."""
