"""What a kafka-python client pushes: its settings under Kafka's names and in Kafka's spelling, without what is sensitive.

Pure: from a configuration to entries.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES, ClientType, Type, kafka_name
from clientscope.records.codec import ValueState


class Entry(NamedTuple):
    """One entry of a push."""

    key: str
    value: str
    type: Type
    is_default: bool


class Collected(NamedTuple):
    """What may be pushed, and the keys that were asked for and may not."""

    entries: tuple[Entry, ...]
    sensitive: tuple[str, ...]


_TEXT_OF_NONE = {"compression.type": "none"}
"""Settings for which kafka-python's None is a value of Kafka's, and not the lack of one."""

_LARGEST = {Type.SHORT: 2**15 - 1, Type.INT: 2**31 - 1, Type.LONG: 2**63 - 1}


def collect(client_type: ClientType, config: Mapping[str, Any], set_by_user: Collection[str], keys: Iterable[str]) -> Collected:
    """The entries for ``keys`` (Kafka's names), in that order.

    ``config`` is the client's whole configuration under kafka-python's names, defaults included; ``set_by_user`` the names
    that the user gave.  A key without a value is left out.  A key that Kafka doesn't know is custom configuration, which
    may not be pushed (KIP-1324).
    """
    names = {kafka_name(name): name for name in config}
    entries = []
    held_back = []
    for key in dict.fromkeys(keys):
        if key not in TYPES:
            held_back.append(key)
            continue
        name = names.get(key)
        if name is None:
            continue
        value = _effective(client_type, name, config)
        if value is None and key not in _TEXT_OF_NONE:
            continue
        text = _text(key, value, TYPES[key])
        if sensitive.reason(key, text or "", TYPES[key]) is not ValueState.PRESENT:
            held_back.append(key)
        elif text is not None:
            entries.append(Entry(key, text, TYPES[key], name not in set_by_user))
    return Collected(tuple(entries), tuple(held_back))


def _effective(client_type: ClientType, name: str, config: Mapping[str, Any]) -> Any:
    """The value that the client will work with.

    kafka-python turns idempotence off where other settings contradict it, but only once it has met a broker, which is after
    the push: the same judgement has to be made here, or ``acks=0`` would be shown with idempotence on.
    """
    if client_type is ClientType.PRODUCER and name == "enable_idempotence":
        if config["transactional_id"]:
            return True
        contradicted = config["acks"] not in (-1, "all") or config["retries"] == 0 or config["max_in_flight_requests_per_connection"] > 5
        return config[name] and not contradicted
    return config[name]


def _text(key: str, value: Any, config_type: Type) -> str | None:
    """A value as Kafka writes it, or None where there is none that Kafka could write (a function, say)."""
    text: str | None = None
    if value is None:
        text = _TEXT_OF_NONE.get(key)
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif key == "acks" and value == -1:
        text = "all"
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
