"""Layout of a record's JSON schema for the decoder: fields in wire order, their widths and their Arrow types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from clientscope.records.layouts import FieldSchema, MessageSchema

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
WIDTH = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1, "uuid": 16, "string": 1, "bytes": 1}
"""The fewest bytes of each type on the wire."""


@dataclass(frozen=True)
class LayoutField:
    """One field of a struct.

    Attributes:
        name: in snake case, as in the reference codec.
        type: one of Kafka's primitive types, or ``array``.
        nullable: whether the wire may say null.
        default: the column's value where the wire has none.
        element: of an array, what it holds.
        made: whether a column is made of it; a field that is only read past costs a third.
        tag: of a tagged field (KIP-482), its number.
    """

    name: str
    type: str
    nullable: bool
    default: str | int | bool | bytes | None
    element: Struct | None = None
    made: bool = True
    tag: int | None = None

    @property
    def min_size(self) -> int:
        """The fewest bytes that the field takes on the wire."""
        return 1 if self.element else WIDTH[self.type]

    @property
    def arrow_type(self) -> pa.DataType:
        """The column's type; a uuid is its canonical text, or null where it is all zeros."""
        return pa.list_(self.element.arrow_type) if self.element else _ARROW[self.type]


@dataclass(frozen=True, eq=False)  # it is a key of dicts, and to hash all that is in it takes time
class Struct:
    """All fields of a struct in the schema's order."""

    fields: tuple[LayoutField, ...]

    @cached_property
    def made(self) -> tuple[LayoutField, ...]:
        """The fields that columns are made of."""
        return tuple(field for field in self.fields if field.made)

    @cached_property
    def wire(self) -> tuple[LayoutField, ...]:
        """What each such struct holds on the wire, in this order."""
        return tuple(field for field in self.fields if field.tag is None)

    @cached_property
    def tagged(self) -> tuple[LayoutField, ...]:
        """What it may hold behind that."""
        return tuple(field for field in self.fields if field.tag is not None)

    @cached_property
    def runs(self) -> tuple[tuple[LayoutField, ...], ...]:
        """`wire` in pieces: each array by itself, and the fields between them together."""
        runs: list[list[LayoutField]] = [[]]
        for field in self.wire:
            if field.element is not None:
                runs += [[field], []]
            else:
                runs[-1].append(field)
        return tuple(tuple(run) for run in runs if run)

    @cached_property
    def has_tagged_columns(self) -> bool:
        """Whether columns are made of its tagged fields."""
        return any(field.made for field in self.tagged)

    @cached_property
    def min_size(self) -> int:
        """The fewest bytes that the struct takes on the wire; so many zeros read as empty and null fields."""
        return sum(field.min_size for field in self.wire) + 1

    @cached_property
    def arrow_type(self) -> pa.StructType:
        return pa.struct([(field.name, field.arrow_type) for field in self.made])

    def walk(self) -> list[Struct]:
        """This struct and all within it."""
        return [self] + [inner for field in self.fields if field.element for inner in field.element.walk()]


def compile_schema(schema: MessageSchema, only: Collection[str] | None = None) -> Struct:
    """The layout of a record, whose version is 0: what came later is in tagged fields.

    Args:
        only: the fields to make columns of, in snake case; ``counts`` means all fields within, ``counts.open_connections`` that one.

    Raises:
        ValueError: the schema uses what the decoder has not been taught (a type, another version, a tagged array), or lacks a field.
    """
    if (schema["validVersions"], schema["flexibleVersions"]) != ("0", "0+"):
        raise ValueError(f"{schema['name']}: only version 0, which is flexible, can be decoded")
    layout = _struct(schema["fields"])
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


def _struct(fields: Iterable[FieldSchema]) -> Struct:
    return Struct(tuple(map(_field, fields)))


def _field(schema: FieldSchema) -> LayoutField:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", schema["name"]).lower()
    element = _struct(schema["fields"]) if schema["type"].startswith("[]") and "fields" in schema else None
    if element is None and schema["type"] not in _ARROW:
        raise ValueError(f"{name}: type {schema['type']} can't be decoded")
    if element and "tag" in schema:
        raise ValueError(f"{name}: a tagged array can't be decoded")
    return LayoutField(
        name,
        "array" if element else schema["type"],
        nullable="nullableVersions" in schema,
        default=_default(name, schema),
        element=element,
        tag=schema.get("tag"),
    )


def _default(name: str, schema: FieldSchema) -> str | int | bool | bytes | None:
    """The default as Kafka's message generator reads it: the schema's text, or the type's zero without one."""
    text = schema.get("default", "")
    if text == "null" or schema["type"] == "uuid" or schema["type"].startswith("[]"):
        return None
    if schema["type"] == "bool":
        return str(text).lower() == "true"
    if schema["type"] == "bytes":
        return b""
    return str(text) if schema["type"] == "string" else int(str(text) or "0", 0)
