"""Helpers for Arrow arrays: distinct rows, and columns as JSON."""
