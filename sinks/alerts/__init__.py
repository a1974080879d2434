"""Delivery of findings to the people who should act: ``clientscope deliver``."""
