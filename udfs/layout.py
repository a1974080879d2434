"""A record's JSON schema as what the decoder walks: its fields in wire order, their widths and their Arrow types."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
    """

    name: str
    type: str
    nullable: bool
    element: Struct | None = None

    @property
    def min_size(self) -> int:
        """The fewest bytes that the field takes on the wire."""
        return 1 if self.element else _WIDTH[self.type]

    @property
    def arrow_type(self) -> pa.DataType:
        """The column's type; a uuid is its canonical text, or null where it is all zeros."""
        return pa.list_(self.element.arrow_type) if self.element else _ARROW[self.type]


@dataclass(frozen=True)
class Struct:
    """Fields in wire order, followed by the tagged fields of a flexible version."""

    fields: tuple[Field, ...]

    @cached_property
    def min_size(self) -> int:
        """The fewest bytes that the struct takes on the wire; so many zeros read as empty and null fields."""
        return sum(field.min_size for field in self.fields) + 1

    @cached_property
    def arrow_type(self) -> pa.StructType:
        return pa.struct([(field.name, field.arrow_type) for field in self.fields])

    def walk(self) -> list[Struct]:
        """This struct and all within it."""
        return [self] + [inner for field in self.fields if field.element for inner in field.element.walk()]


def compile_schema(schema: dict[str, Any]) -> Struct:
    """The layout of version 0 of a record.

    Raises:
        ValueError: the schema uses what the decoder has not been taught: another version, a type, a known tagged field.
    """
    if schema["validVersions"] != "0" or schema["flexibleVersions"] != "0+":
        raise ValueError(f"{schema['name']}: only version 0, flexible, can be decoded")
    return _struct(schema)


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
