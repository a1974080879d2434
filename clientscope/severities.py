"""How bad a finding is."""

from __future__ import annotations

SEVERITIES = ("info", "low", "medium", "high", "critical")
"""From what may be left as it is to what can't wait."""
