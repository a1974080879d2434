"""Findings: what is wrong, over time and across the fleet, from what rules say of each push."""
