"""Judging of the rules in values.toml, about values that the library doesn't take."""

from __future__ import annotations

import re
from functools import lru_cache

from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.dialects import LIBRDKAFKA
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.placeholders import TEMPLATE
from clientscope.model.setting import TYPE_NUMBERS, Setting
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import Judgement, judges, pointing

_PARSED = frozenset({Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE})
_FRACTION = re.compile(r"[+-]?[0-9]{1,19}\.[0-9]{1,19}")
_SHORT = 10
"""Digits of a number that may be too large for 32 bits."""
_LONGEST = 64
"""Characters: no library writes a number or a truth value with more."""

_LONGEST_IN_FILES = 512
_FILLED_IN = re.compile(rf".*(?:{TEMPLATE}).*|(?i:null|none)")


def _fits(text: str, config_type: int) -> bool:
    """As ConfigDef parses it."""
    if len(text) < _SHORT and text.isascii() and text.isdecimal() and config_type not in (Type.BOOLEAN, Type.SHORT):
        return True
    return len(text) <= _LONGEST and _parses(text, config_type)


@lru_cache(maxsize=16_384)
def _parses(text: str, config_type: int) -> bool:
    try:
        parse(text, config_type)
    except ValueError:
        return False
    return True


def _spelled(known: Dialect | None, name: str, key: str, config_type: int, text: str, written: bool) -> bool:
    """As the library writes it; of unknown software as any of them does.

    Args:
        written: in a file, which may leave a value to what fills it in.
    """
    if written and len(text) <= _LONGEST_IN_FILES and _FILLED_IN.fullmatch(text.strip()):
        return True
    if len(text) > _LONGEST:
        return False
    readers = (LIBRDKAFKA, JAVA) if known is None else (known,)
    if readers[0] is not JAVA and config_type != Type.BOOLEAN and _FRACTION.fullmatch(text.strip()):
        return True  # a floating-point number for Kafka's whole one: librdkafka's linger.ms, Python's seconds
    if config_type == Type.BOOLEAN and any(text.strip().lower() in reader.booleans for reader in readers):
        return True
    return any(_fits(reader.kafka_value(name, key, text), config_type) for reader in readers)


@judges("AN311")
def value_unparsable(push: PushedConfig) -> Judgement:
    found, wrong = False, []
    for place, (setting, key) in enumerate(zip(push.settings, push.keys, strict=True)):
        value = setting.value
        config_type = TYPE_NUMBERS[setting.type]
        if config_type not in _PARSED:  # by its name, then
            facts = push.facts(place) if key is None else None
            config_type = TYPES[key] if key is not None else facts.type if facts else Type.STRING
        if config_type not in _PARSED or value is None or push.has_several(setting):
            continue
        found = True
        if not _fits(value, config_type) and not _spelled(
            push.software.dialect, setting.key, key or setting.key, config_type, value, push.complete
        ):
            # Under a name that isn't Kafka's there may be anything.
            wrong.append(Setting(key or setting.key, None if key is None else value, setting.origin))
    return pointing(wrong, found)


@judges("CF102")
def value_out_of_range(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.refused_by("range"), "allowed: {allowed}"), bool(push.constrained))


@judges("CF103")
def value_not_allowed(push: PushedConfig) -> Judgement:
    refused = push.refused_by("words", "any case", "list", "filled")
    return pointing(push.noted(refused, "allowed: {allowed}"), bool(push.constrained))


@judges("CF111")
def value_outdated(push: PushedConfig) -> Judgement:
    return pointing(list(push.outdated()), bool(push.constrained))
