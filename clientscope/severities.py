"""Severities of findings, in order."""

from __future__ import annotations

from typing import Literal, get_args

Severity = Literal["info", "low", "medium", "high", "critical"]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From what may be left as it is to what can't wait."""
