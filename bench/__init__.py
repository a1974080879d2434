"""Benchmarks; nothing here is installed, and no test asserts what they measure."""
