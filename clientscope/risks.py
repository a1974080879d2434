"""Risks of findings: what may happen where nothing is done."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Risk = Literal["loss", "duplicates", "stall", "cost", "secret", "drift"]

RISKS: tuple[Risk, ...] = get_args(Risk)
"""In the order in which they are shown."""

ABOUT: Mapping[Risk, str] = MappingProxyType(
    {
        "loss": "records that were written, or should have been, are gone or are never read",
        "duplicates": "records are written or read twice, or out of order",
        "stall": "a client doesn't start, stops, or waits",
        "cost": "brokers, network or disks do more work than they need to",
        "secret": "a password, a key or personal data gets to those who may not have it",
        "drift": "a client isn't configured as its owner believes, or as others are",
    }
)
