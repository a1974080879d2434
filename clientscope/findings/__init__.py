"""Findings: their records in ``clientscope.findings``, people's decisions about them, and their fingerprints."""
