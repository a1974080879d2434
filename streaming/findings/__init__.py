"""Findings: problems over time and across the fleet, from the rules' verdicts on each push."""
