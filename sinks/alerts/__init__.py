"""Delivering findings to those who should act: ``clientscope deliver``."""
