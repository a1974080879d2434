"""A record's JSON schema as what the decoder walks: its fields in wire order, their widths and their Arrow types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

FIXED = {"int8": ">i1", "int16": ">i2", "int32": ">i4", "int64": ">i8", "bool": ">u1"}
"""Types of a fixed width, as numpy reads them from the wire."""

_ARROW = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "uuid": pa.string(),
}
_WIDTH = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1, "uuid": 16, "string": 1, "bytes": 1}


@dataclass(frozen=True)
class Field:
    """One field of a struct.

    Attributes:
        name: in snake case, as in the reference codec.
        type: one of Kafka's primitive types, or ``array``.
        nullable: whether the wire may say null.
        element: of an array, what it holds.
        made: whether a column is made of it; a field that is only read past costs a third.
    """

    name: str
    type: str
    nullable: bool
    element: Struct | None = None
    made: bool = True

    @property
    def min_size(self) -> int:
        """The fewest bytes that the field takes on the wire."""
        return 1 if self.element else _WIDTH[self.type]

    @property
    def arrow_type(self) -> pa.DataType:
        """The column's type; a uuid is its canonical text, or null where it is all zeros."""
        return pa.list_(self.element.arrow_type) if self.element else _ARROW[self.type]


@dataclass(frozen=True, eq=False)  # it is a key of dicts, and to hash all that is in it takes time
class Struct:
    """Fields in wire order, followed by the tagged fields of a flexible version."""

    fields: tuple[Field, ...]

    @cached_property
    def made(self) -> tuple[Field, ...]:
        """The fields that columns are made of."""
        return tuple(field for field in self.fields if field.made)

    @cached_property
    def min_size(self) -> int:
        """The fewest bytes that the struct takes on the wire; so many zeros read as empty and null fields."""
        return sum(field.min_size for field in self.fields) + 1

    @cached_property
    def arrow_type(self) -> pa.StructType:
        return pa.struct([(field.name, field.arrow_type) for field in self.made])

    def walk(self) -> list[Struct]:
        """This struct and all within it."""
        return [self] + [inner for field in self.fields if field.element for inner in field.element.walk()]


def compile_schema(schema: dict[str, Any], only: Collection[str] | None = None) -> Struct:
    """The layout of version 0 of a record.

    Args:
        only: the fields to make columns of, in snake case; ``counts`` stands for all within, ``counts.open_connections`` for that one.

    Raises:
        ValueError: the schema uses what the decoder has not been taught (another version, a type, a known tagged field), or lacks a field.
    """
    if schema["validVersions"] != "0" or schema["flexibleVersions"] != "0+":
        raise ValueError(f"{schema['name']}: only version 0, flexible, can be decoded")
    layout = _struct(schema)
    if only is None:
        return layout
    if unknown := set(only) - set(_names(layout)):
        raise ValueError(f"{schema['name']}: no such fields: {', '.join(sorted(unknown))}")
    return _only(layout, only)


def _names(struct: Struct, prefix: str = "") -> Iterator[str]:
    for field in struct.fields:
        yield prefix + field.name
        if field.element:
            yield from _names(field.element, f"{prefix}{field.name}.")


def _only(struct: Struct, only: Collection[str], prefix: str = "") -> Struct:
    fields = []
    for field in struct.fields:
        name = prefix + field.name
        made, element = name in only, field.element
        if element and not made:
            element = _only(element, only, f"{name}.")
            made = bool(element.made)
        fields.append(replace(field, element=element, made=made))
    return Struct(tuple(fields))


def _struct(schema: dict[str, Any]) -> Struct:
    return Struct(tuple(_field(field) for field in schema["fields"]))


def _field(schema: dict[str, Any]) -> Field:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", schema["name"]).lower()
    nullable = "nullableVersions" in schema
    if "tag" in schema or schema["versions"] != "0+":
        raise ValueError(f"{name}: neither tagged fields nor fields of some versions can be decoded")
    if schema["type"].startswith("[]") and "fields" in schema:
        return Field(name, "array", nullable, _struct(schema))
    if schema["type"] not in _ARROW:
        raise ValueError(f"{name}: type {schema['type']} can't be decoded")
    return Field(name, schema["type"], nullable)
