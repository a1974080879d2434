"""The ClientConfigPolicy in a process of its own, and what holds it to its deadline."""
