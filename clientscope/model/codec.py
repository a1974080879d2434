"""Codec of the topics' records: JSON, one object a record, read by pydantic straight from its bytes.

Whoever may write to a topic chooses what is in it. So a record is read as a whole or not at all, and a failure is a code of ours, never
the parser's own words, which quote what they fail at. Of a name that is twice in an object the last counts, as for Python's ``json``,
JavaScript and Jackson.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from clientscope.errors import RecordError

Record = TypeVar("Record")

MOST_BYTES = 1_048_588
"""Of a record's value: what the topics take, by ``max.message.bytes``."""

_MOST_KEY_BYTES = 8_192

_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def adapter(record_class: type[Record]) -> TypeAdapter[Record]:
    """What reads and writes records of a class; made once in each process."""
    if (known := _adapters.get(record_class)) is None:
        known = _adapters[record_class] = TypeAdapter(record_class)
        known.validator = SchemaValidator(_failing_fast(known.core_schema))
    return known


def _failing_fast(schema: Any) -> Any:
    """A schema that stops at the first wrong item of a list or a map: errors of all items of a record of 1 MB take a gigabyte."""
    if isinstance(schema, list):
        return [_failing_fast(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _failing_fast(part) for name, part in schema.items()}
    return {**made, "fail_fast": True} if made.get("type") in ("tuple", "list", "dict") else made


def encode(record: Any) -> bytes:
    """The record as a topic's value, without fields that are at their default; `encode_whole` is for classes whose version has one."""
    return adapter(type(record)).dump_json(record, exclude_defaults=True)


def encode_whole(record: Any) -> bytes:
    """The same with every field that isn't null: who reads findings, gauges or statuses by other means need know no default."""
    return adapter(type(record)).dump_json(record, exclude_none=True)


def as_json(record: Any) -> dict[str, Any]:
    """The record as a JSON object with every field, for what prints or answers it."""
    made: dict[str, Any] = adapter(type(record)).dump_python(record, mode="json")
    return made


def decode(record_class: type[Record], value: bytes | None) -> Record:
    """A topic's value as a record; the whole of it, or nothing.

    Raises:
        RecordError: the bytes are no such record; its ``reason`` is one of `reasons`.
    """
    if value is None:
        raise RecordError("no_value")
    if len(value) > MOST_BYTES:
        raise RecordError("too_large")
    try:
        return adapter(record_class).validate_json(value)
    except ValidationError as error:
        raise RecordError(_reason(error)) from None


def read_key(parts: type[Record], key: bytes | str | None) -> Record:
    """A record's key, which is a JSON array, as a tuple of this type.

    Raises:
        RecordError: it is no such array; its ``reason`` is ``key``.
    """
    if key is None or len(key) > _MOST_KEY_BYTES:
        raise RecordError("key")
    try:
        return adapter(parts).validate_json(key, strict=True)
    except ValidationError:
        raise RecordError("key") from None


def invalid_fields(record_class: type[Any]) -> tuple[str, ...]:
    """The reasons of fields that are missing or that aren't what they must be."""
    return tuple(_invalid(each.name) for each in fields(record_class))


def reasons(record_class: type[Any]) -> tuple[str, ...]:
    """Every reason why a value may be no record of this class."""
    return ("no_value", "too_large", "not_json", "not_an_object", "unknown_version", *invalid_fields(record_class))


def _reason(error: ValidationError) -> str:
    found = error.errors(include_input=False, include_url=False, include_context=False)
    place = found[0]["loc"]
    if not place:
        return "not_json" if found[0]["type"] == "json_invalid" else "not_an_object"
    # A newer format may differ in any field, so its version is what matters.
    if any(each["loc"] == ("version",) and each["type"] != "missing" for each in found):
        return "unknown_version"
    return _invalid(str(place[0]))


def _invalid(field: str) -> str:
    return f"invalid_{field}"
