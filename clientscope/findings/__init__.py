"""What a finding is: its record in ``clientscope.findings``, what people decide about it, and its fingerprint."""
