"""Sinks: where results go."""
