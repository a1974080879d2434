"""Helpers for arrays: rows that are alike, and columns as JSON."""
