"""Settings that a client pushes: under Kafka's names and in Kafka's spelling, without sensitive ones.

Pure: from a configuration to entries.  `collect` is for kafka-python's own clients, which know all their settings; `collect_dialect`
for any client of which only what the user set is known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from clientscope.catalog import sensitive
from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import KAFKA_PYTHON
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.value_states import ValueState
from clientscope.errors import SettingsError

ENABLE_CONFIG_PUSH = "enable.config.push"
CONFIG_PUSH_ALLOWED_KEYS = "config.push.allowed.keys"


class ConfigEntry(NamedTuple):
    """One entry of a push."""

    key: str
    value: str
    type: Type
    is_default: bool


class Collected(NamedTuple):
    """What may be pushed, and the keys that were asked for and may not."""

    entries: tuple[ConfigEntry, ...]
    sensitive: tuple[str, ...]


_TEXT_OF_NONE = {"compression.type": "none"}
"""Settings for which Python's None is a value of Kafka's, and not the lack of one."""

_TRUE, _FALSE = {"true", "t", "1", "yes"}, {"false", "f", "0", "no"}
"""In the spellings of all dialects."""

_LARGEST = {Type.SHORT: 2**15 - 1, Type.INT: 2**31 - 1, Type.LONG: 2**63 - 1}


def collect(client_type: ClientType, config: Mapping[str, Any], set_by_user: Collection[str], keys: Iterable[str]) -> Collected:
    """The entries for ``keys`` (Kafka's names), in that order.

    ``config`` is the client's whole configuration under kafka-python's names, defaults included; ``set_by_user`` the names
    that the user gave.  A key without a value is left out.  A key that Kafka doesn't know is custom configuration, which
    may not be pushed (KIP-1324).
    """
    values = _values(KAFKA_PYTHON, client_type, config)
    given = {KAFKA_PYTHON.kafka_name(name, client_type) for name in set_by_user}
    # kafka-python turns idempotence off where other settings contradict it, but only once it has met a broker, which is after
    # the push: the same judgement has to be made here, or acks=0 would be shown with idempotence on.
    values |= KAFKA_PYTHON.settle(client_type, values, given, ())
    return _entries(values, given, keys)


def collect_dialect(
    dialect: str, client_type: ClientType, settings: Mapping[str, Any], keys: Iterable[str] | None = None, version: str = ""
) -> Collected:
    """The entries of a client of which only what the user set is known; the rest are the defaults of its software.

    Args:
        dialect: whose names and spellings they are: one of `clientscope.catalog.dialects.DIALECTS`.
        settings: what the user set, as text or as Python values.  None is no value.
        keys: what to push, by Kafka's names or the dialect's; None takes ``config.push.allowed.keys`` from ``settings``, or else
            `DEFAULT_KEYS`.
        version: the software's, whose defaults are taken; one that isn't known is the newest.

    Raises:
        ClientscopeError: an unknown dialect.
    """
    chosen = dialect_of(dialect)
    settings = flat(settings)
    if keys is None:
        keys = allowed_keys(settings)
    wanted = DEFAULT_KEYS[client_type] if keys is None else [_known(chosen, key, client_type) for key in keys]
    given = _values(chosen, client_type, {name: value for name, value in settings.items() if value is not None})
    values = {**chosen.defaults_of(client_type, version), **given}
    values |= chosen.settle(client_type, values, given, chosen.release_of(version))
    return _entries(values, given, wanted)


def allowed_keys(settings: Mapping[str, Any]) -> list[str] | None:
    """What ``config.push.allowed.keys`` names, in any dialect's spelling of it; None if it isn't set."""
    value = _ours(settings, CONFIG_PUSH_ALLOWED_KEYS)
    return None if value is None else split_keys(value)


def split_keys(value: str | Iterable[str], key: str = CONFIG_PUSH_ALLOWED_KEYS) -> list[str]:
    """Keys as a list, or as text with commas between.

    Args:
        key: the setting's name, in the dialect's spelling.

    Raises:
        SettingsError: it is neither.
    """
    keys = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(each, str) for each in keys):
        raise SettingsError(
            f"{key} must be a list of keys (got {_got(value)})", f'set {key} to a list, or to text such as "acks,linger.ms"'
        )
    return [each.strip() for each in keys if each.strip()]


def milliseconds(key: str, value: Any, default: int, *, least: float = 1) -> float:
    """A duration of ours, of at most 2147483647 ms, the largest of Kafka's type int.

    Raises:
        SettingsError: it is no number, or too small or too large.
    """
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number <= _LARGEST[Type.INT]:
        what = "a positive number of milliseconds" if least > 0 else "a number of milliseconds, 0 or more"
        raise SettingsError(f"{key} must be {what} (got {_got(value)})", f"set {key} to such a number; {default} is the default")
    return number


def _got(value: Any) -> str:
    """A value in an error: escaped, and cut off."""
    text = ascii(value) if isinstance(value, str | int | float) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:40]}…"


def push_enabled(settings: Mapping[str, Any]) -> bool:
    """What ``enable.config.push`` says, in any dialect's spelling of it; true if it isn't set.

    Raises:
        SettingsError: it is neither true nor false.
    """
    value = _ours(settings, ENABLE_CONFIG_PUSH)
    text = "true" if value is None else str(value).strip().lower()
    if text not in _TRUE | _FALSE:  # a user who writes ``off`` may mean it
        raise SettingsError(f"{ENABLE_CONFIG_PUSH} must be true or false (got {_got(value)})", f"set {ENABLE_CONFIG_PUSH} to one of them")
    return text in _TRUE


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without levels: ``{"linger": {"ms": 5}}`` is ``{"linger.ms": 5}``."""
    levels: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            levels |= {f"{name}.{below}": deeper for below, deeper in flat(value).items()}
        else:
            levels[name] = value
    return levels


def _ours(settings: Mapping[str, Any], key: str) -> Any:
    """A setting of KIP-1324's, which every dialect spells in its own way: with dots, underscores, or in camelCase."""
    spelled = key.replace(".", "")
    return next((value for name, value in settings.items() if name.replace("_", "").replace(".", "").lower() == spelled), None)


def _known(dialect: Dialect, key: str, client_type: ClientType) -> str:
    """A key by Kafka's name; as it is written where Kafka has no such key, so that a person finds it again."""
    return next((name for name in (dialect.kafka_name(key, client_type), key) if name in TYPES), key)


def _values(dialect: Dialect, client_type: ClientType, settings: Mapping[str, Any]) -> dict[str, str | None]:
    """Kafka's settings among these, in Kafka's text; None for a value that Kafka couldn't write (a function, say)."""
    values: dict[str, str | None] = {}
    for name, value in settings.items():
        key = dialect.kafka_name(name, client_type)
        if key not in TYPES or (value is None and key not in _TEXT_OF_NONE):
            continue
        text = _text(key, value, TYPES[key])
        values[key] = None if text is None else dialect.kafka_value(name, key, text)
    return values


def _entries(values: Mapping[str, str | None], given: Collection[str], keys: Iterable[str]) -> Collected:
    entries = []
    held_back = []
    for key in dict.fromkeys(keys):
        text = values.get(key)
        if key not in TYPES or sensitive.reason(key, text or "", TYPES[key]) is not ValueState.PRESENT:
            held_back.append(sensitive.shown_key(key))  # it is named in warnings, and may be a line that was taken for a key
        elif text is not None:
            entries.append(ConfigEntry(key, text, TYPES[key], key not in given))
    return Collected(tuple(entries), tuple(held_back))


def _text(key: str, value: Any, config_type: Type) -> str | None:
    """A Python value as Kafka would write it, or None if it couldn't."""
    text: str | None = None
    if value is None:
        text = _TEXT_OF_NONE.get(key)
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int):
        text = str(value)
    elif value == math.inf:
        text = str(_LARGEST[config_type]) if config_type in _LARGEST else None
    elif isinstance(value, float):
        text = str(int(value)) if value.is_integer() else str(value)
    elif isinstance(value, list | tuple):
        text = ",".join(_item(item) for item in value)
    return text


def _item(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}" if isinstance(item, type) else str(item)
