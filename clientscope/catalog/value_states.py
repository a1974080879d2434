"""Why a value may not be shown."""

from __future__ import annotations

from enum import IntEnum


class ValueState(IntEnum):
    """Whether a setting's value is there, or else why it was redacted: ``reason`` of a redaction, in lower case.

    Numbers, since they are columns of settings too.
    """

    PRESENT = 0
    KEY_PREFIX = 1
    KEY_INFIX = 2
    KEY_SUFFIX = 3
    TYPE = 4
    KEY_WORD = 5
    VALUE_SHAPE = 6
    LOOKS_RANDOM = 7
    CERTIFICATE = 8
    WITHOUT_SECRET = 9
    CUSTOM = 10
