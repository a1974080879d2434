"""Fields of the grammar, terms of a parsed query as values, and the error of one that can't be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import Literal

from clientscope.errors import ClientscopeError
from clientscope.risks import RISKS
from clientscope.severities import SEVERITIES

_SHOWN = 8


class QueryError(ClientscopeError):
    """A query, or an order, that can't be read.

    Attributes:
        position: where the mistake begins, in characters from 0.
        length: of the mistake; 0 where something is missing.
        expected: what is possible there.
    """

    def __init__(self, message: str, position: int, length: int, expected: Sequence[str] = ()) -> None:
        hint = f"expected: {', '.join(expected[:_SHOWN])}{', …' * (len(expected) > _SHOWN)}" if expected else None
        super().__init__(message, hint)
        self.position = position
        self.length = length
        self.expected = tuple(expected)


_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)", re.ASCII)
_PARTS = 8
_DIGITS = 9


def version_order(version: str) -> str | None:
    """A text that compares as the version does: ``3.9.0-ccs`` as 3.9, and 3 as 3.0.0.

    Returns:
        None for a version that begins with no number, ``unknown`` among them: it holds in no comparison.
    """
    found = _NUMBERS.match(version)
    if found is None:
        return None
    parts = [int(part[:_DIGITS]) for part in found[1].split(".")[:_PARTS]]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return ".".join(f"{part:0{_DIGITS}}" for part in parts)


NONE, NOT_JUDGED = "none", "not-judged"


class FieldKind(Enum):
    """What a field's values are."""

    TEXT = "text"
    VERSION = "version"
    NUMBER = "number"
    SEVERITY = "severity"
    FINDING = "finding"
    """A client's findings: the worst severity, a rule's code, ``none``, or ``not-judged``."""
    TIME = "time"
    CHOICE = "choice"


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes:
        choices: of a CHOICE, its values.
        within: the field that a term with an order needs beside it, since values of different ones don't compare.
    """

    name: str
    kind: FieldKind
    choices: tuple[str, ...] = ()
    within: str = ""

    @property
    def expected(self) -> tuple[str, ...]:
        """Examples of what may follow the colon."""
        return {
            FieldKind.TEXT: ("text", "text*", '"text with spaces"', '""'),
            FieldKind.VERSION: ("2.6.1", "2.6.*", "<2.6", ">=3"),
            FieldKind.NUMBER: ("5", "<5", ">=5"),
            FieldKind.SEVERITY: (*SEVERITIES, f">={SEVERITIES[-2]}"),
            FieldKind.FINDING: (*SEVERITIES, f">={SEVERITIES[-2]}", "SK001", "AN1*", NONE, NOT_JUDGED),
            FieldKind.TIME: ("<1h", ">7d", "2026-12-31", ">=2026-12-31T08:00"),
            FieldKind.CHOICE: (*self.choices, '""'),
        }[self.kind]


Fields = Mapping[str, Field]
NOTHING: Mapping[str, str] = MappingProxyType({})


def _fields(within: Mapping[str, str] = NOTHING, /, **kinds: FieldKind | tuple[str, ...]) -> dict[str, Field]:
    """Fields by name: each with its kind, or with the values of a choice."""
    return {
        name: Field(name, FieldKind.CHOICE, kind) if isinstance(kind, tuple) else Field(name, kind, within=within.get(name, ""))
        for name, kind in kinds.items()
    }


CLIENTS: dict[str, Field] = _fields(
    {"version": "software"},
    software=FieldKind.TEXT,  # name of the client library that it announces, or that is underneath
    version=FieldKind.VERSION,  # its version; compared within a library, so beside software:
    client_id=FieldKind.TEXT,  # client.id
    application=FieldKind.TEXT,  # client.id without its instance part
    owner=FieldKind.TEXT,  # the team that it belongs to (owners.toml)
    principal=FieldKind.TEXT,  # the name that it authenticated with
    address=FieldKind.TEXT,  # IP address
    listener=FieldKind.TEXT,  # the broker's listener
    protocol=FieldKind.TEXT,  # security protocol
    broker=FieldKind.NUMBER,  # the broker's id
    cluster=FieldKind.TEXT,  # the cluster's id
    gateway=FieldKind.TEXT,  # the gateway's id
    instance=FieldKind.TEXT,  # client instance id (KIP-1324)
    finding=FieldKind.FINDING,  # what is wrong with it: worst severity, a rule, none or not-judged
    risk=RISKS,  # what may happen by its findings
    connections=FieldKind.NUMBER,  # how many it has open
    opened_per_minute=FieldKind.NUMBER,  # how many it opened by minute, within the last five
    bytes_in_per_second=FieldKind.NUMBER,  # bytes per second from it, at its gateway's last heartbeat
    bytes_out_per_second=FieldKind.NUMBER,  # bytes per second to it, likewise
    active=FieldKind.TIME,  # when bytes last passed, or how long ago: >1h of those that are idle
    since=FieldKind.TIME,  # when the oldest of them was opened, or how long ago
    connected=("yes", "no"),  # no of those that have gone; by default yes
    disconnected=FieldKind.TIME,  # when it closed its last connection, or how long ago
)
"""Fields of a client, and of its connections.  Clients that have gone are left out unless ``connected`` or ``disconnected`` is asked
for."""

HISTORY_CLIENTS: Fields = {
    name: CLIENTS[name] for name in ("software", "version", "client_id", "application", "owner", "principal", "address", "cluster")
} | _fields(
    broker=FieldKind.NUMBER,  # the id of one that it was connected to
    connections=FieldKind.NUMBER,  # how many it had in the time asked about
    open=FieldKind.NUMBER,  # how many of them were open at its end
    first_seen=FieldKind.TIME,  # when it was first seen in that time
    last_seen=FieldKind.TIME,  # when it was last seen in that time
)
"""Fields of a client in history."""

FINDINGS: dict[str, Field] = _fields(
    code=FieldKind.TEXT,  # the rule's
    name=FieldKind.TEXT,  # the rule's name
    severity=FieldKind.SEVERITY,  # how bad it is
    risk=RISKS,  # what may happen where nothing is done
    state=("open", "stopped", "resolved", "closed"),  # what is to be done
    confidence=("high", "low"),  # low of what only looks like it
    kind=("setting", "leak", "fleet", "operation"),  # what it is about
    principal=FieldKind.TEXT,  # of an application or client that has it
    client_id=FieldKind.TEXT,  # of an application or client that has it
    owner=FieldKind.TEXT,  # the team that it belongs to
    setting=FieldKind.TEXT,  # a setting that it is about
    digest=FieldKind.TEXT,  # keyed digest of a secret: its first digits and a star
    fingerprint=FieldKind.TEXT,  # its first digits and a star
    clients=FieldKind.NUMBER,  # how many have it now
    since=FieldKind.TIME,  # when it was last opened, or how long ago
)
"""Fields of a finding."""

HISTORY_FINDINGS: Fields = {name: field for name, field in FINDINGS.items() if name not in ("setting", "digest")}
"""Fields of a finding in history, which has no settings."""

CONNECTIONS: Fields = {
    name: CLIENTS[name]
    for name in ("software", "version", "client_id", "principal", "address", "listener", "protocol", "instance", "since")
}
"""Fields of a connection that a gateway knows by itself."""

READINESS: Fields = {name: CLIENTS[name] for name in ("software", "version", "application", "owner", "principal")} | _fields(
    verdict=("breaks", "unknown", "falls_back", "fine"),  # what becomes of it at brokers of the target
)
"""Fields of a client that is judged for an upgrade."""

RULES: dict[str, Field] = _fields(
    code=FieldKind.TEXT,  # the rule's
    name=FieldKind.TEXT,  # the rule's name
    severity=FieldKind.SEVERITY,  # the worst that it has
    risk=RISKS,  # what may happen where nothing is done
    type=FieldKind.TEXT,  # a kind of client that it is for, such as producer
    library=FieldKind.TEXT,  # a client library that it is for
    needs=FieldKind.TEXT,  # what must be known to judge
    key=FieldKind.TEXT,  # a setting that it is about
)
"""Fields of a rule."""

BROKERS: dict[str, Field] = _fields(
    software=FieldKind.TEXT,  # name of what it runs
    version=FieldKind.VERSION,  # its version
    broker=FieldKind.NUMBER,  # its id
    cluster=FieldKind.TEXT,  # the cluster's id
    host=FieldKind.TEXT,  # where it can be reached
    rack=FieldKind.TEXT,  # where it stands
    gateway=FieldKind.TEXT,  # the gateway that reports it
    source=("declared", "jmx", "inferred", "unknown"),  # how its software is known
)
"""Fields of a broker."""


Operator = Literal["<", "<=", ">", ">=", "="]

_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
_PLAIN = re.compile(r"[^\s\"*,\\:<>=()-][^\s\"*,\\()]*")


def fold(text: str) -> str:
    """The text with ASCII letters in lower case: how texts are compared, in SQL too."""
    return text.translate(_FOLD)


@dataclass(frozen=True)
class Pattern:
    """A text, or its parts with anything between them.

    Attributes:
        parts: never empty; a text alone is one part.
    """

    parts: tuple[str, ...]

    @property
    def text(self) -> str | None:
        """What it is equal to; None where it is a pattern."""
        return self.parts[0] if len(self.parts) == 1 else None

    def matches(self, value: str | None) -> bool:
        """Whether a value is one of these; the empty text is meant by those that have none."""
        if value is None:
            return self.parts == ("",)
        text, first, last = fold(value), fold(self.parts[0]), fold(self.parts[-1])
        if len(self.parts) == 1:
            return text == first
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        # The leftmost place of each part leaves most room for the others.
        for part in map(fold, self.parts[1:-1]):
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    def within(self, text: str) -> bool:
        """Whether a text in lower case has the parts in it, in their order."""
        at = 0
        for part in self.parts:
            at = text.find(part.lower(), at)
            if at < 0:
                return False
            at += len(part)
        return True


@dataclass(frozen=True)
class Compare:
    """A comparison; ``value`` is a number, or of a version `clientscope.query.terms.version_order`'s text."""

    operator: Operator
    value: int | str


@dataclass(frozen=True)
class Between:
    """From ``first``, to before ``end``."""

    first: int
    end: int


@dataclass(frozen=True)
class Is:
    """A state with a name: ``none`` or ``not-judged`` of findings."""

    name: str


Condition = Pattern | Compare | Between | Is


@dataclass(frozen=True)
class Term:
    """One term.

    Attributes:
        field: None for a word that is searched for.
        any_of: at least one.
        position, length: its place, in characters.
        library: it is about the library underneath (`clientscope.query.matching`); of a client without one it holds never.
    """

    field: str | None
    any_of: tuple[Condition, ...]
    negated: bool = False
    position: int = 0
    length: int = 0
    library: bool = False


@dataclass(frozen=True)
class Choice:
    """Queries of which at least one must hold: what is in parentheses, or on the sides of ``OR``.

    Attributes:
        any_of: at least one.
    """

    any_of: tuple[Query, ...]
    negated: bool = False


@dataclass(frozen=True)
class Query:
    """Terms and choices, which must all hold; none leaves everything."""

    terms: tuple[Term | Choice, ...] = ()

    def asks_for(self, field: str) -> bool:
        """Whether a term is about this field."""
        return any(term.field == field for term in self.each())

    def each(self) -> Iterator[Term]:
        """Every term, of choices too."""
        for part in self.terms:
            if isinstance(part, Choice):
                for query in part.any_of:
                    yield from query.each()
            else:
                yield part


def term_text(field: str, *values: str | int | None) -> str:
    """A term that leaves those whose field is just one of the values; None for those that have none."""
    return f"{field}:{','.join(_quoted('' if value is None else str(value)) for value in values)}"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
