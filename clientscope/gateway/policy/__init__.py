"""The ClientConfigPolicy in a process of its own, with a deadline."""
