"""Parsing of a setting's text by its type, as Kafka's ConfigDef.parseType does it (org.apache.kafka.common.config.ConfigDef, 4.4.0)."""

from __future__ import annotations

import math
import re

from clientscope.catalog.configs import Type

Value = bool | int | float | str | tuple[str, ...]
"""BOOLEAN; INT, SHORT and LONG; DOUBLE; STRING, CLASS (its name) and PASSWORD; LIST."""

_BITS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
_BOOLEANS = {"true": True, "false": False}
_MOST_DIGITS = 1_000
"""Digits in the text of a number: Python's own limit is 4,300, and no setting is longer."""

# Java's Integer.parseInt takes the decimal digits of all scripts.
_INTEGER = re.compile(r"[+-]?\d+")
# Java's Double.parseDouble.
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_NAMED = {
    sign + name: value * (-1 if sign == "-" else 1)
    for sign in ("", "+", "-")
    for name, value in (("NaN", math.nan), ("Infinity", math.inf))
}
_TRIMMED = "".join(map(chr, range(0x21)))
"""What Java's String.trim takes off."""
_SPACE = " \t\n\v\f\r"
"""Java's ``\\s``."""


def parse(text: str, config_type: int) -> Value:
    """
    Args:
        config_type: an ordinal of `Type`.

    Raises:
        ValueError: the text is no value of the type, as ConfigDef's ConfigException; or the type is unknown. It never quotes the text.
    """
    config_type = Type(config_type)
    text = text.strip(_TRIMMED)
    if config_type is Type.LIST:
        return tuple(part.strip(_SPACE) for part in text.split(",")) if text else ()
    if config_type in (Type.STRING, Type.CLASS, Type.PASSWORD):
        return text
    value = _boolean(text) if config_type is Type.BOOLEAN else _number(text, config_type)
    if value is None:
        raise ValueError(f"not of type {config_type.name}")
    return value


def _boolean(text: str) -> bool | None:
    return _BOOLEANS.get(text.lower()) if text.isascii() else None


def _number(text: str, config_type: Type) -> int | float | None:
    if len(text) > _MOST_DIGITS:
        return None
    if config_type is Type.DOUBLE:
        return _double(text)
    if not _INTEGER.fullmatch(text):
        return None
    number, most = int(text), 1 << (_BITS[config_type] - 1)
    return number if -most <= number < most else None


def _double(text: str) -> float | None:
    if (decimal := _DECIMAL.fullmatch(text)) is not None:
        return float(decimal[1])
    if (hexadecimal := _HEXADECIMAL.fullmatch(text)) is not None:
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    return _NAMED.get(text)
