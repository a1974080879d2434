"""Which fields there are, and what may be asked of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from clientscope.severities import SEVERITIES

NONE, NOT_JUDGED = "none", "not-judged"


class Kind(Enum):
    """What a field's values are."""

    TEXT = "text"
    VERSION = "version"
    NUMBER = "number"
    SEVERITY = "severity"
    FINDING = "finding"
    """Of a client: the worst severity, a rule's code, ``none``, or ``not-judged``."""
    TIME = "time"
    CHOICE = "choice"


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes:
        about: in a few words, for help.
        choices: of a CHOICE, its values.
    """

    name: str
    kind: Kind
    about: str
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> tuple[str, ...]:
        """Examples of what may follow the colon."""
        return {
            Kind.TEXT: ("text", "text*", '"text with spaces"', '""'),
            Kind.VERSION: ("2.6.1", "2.6.*", "<2.6", ">=3"),
            Kind.NUMBER: ("5", "<5", ">=5"),
            Kind.SEVERITY: (*SEVERITIES, f">={SEVERITIES[-2]}"),
            Kind.FINDING: (*SEVERITIES, f">={SEVERITIES[-2]}", "SK001", "AN1*", NONE, NOT_JUDGED),
            Kind.TIME: ("<1h", ">7d", "2026-12-31", ">=2026-12-31T08:00"),
            Kind.CHOICE: self.choices,
        }[self.kind]


Fields = Mapping[str, Field]


def _fields(*fields: Field) -> Fields:
    return {field.name: field for field in fields}


CLIENTS: Fields = _fields(
    Field("software", Kind.TEXT, "name of the client library"),
    Field("version", Kind.VERSION, "its version"),
    Field("client_id", Kind.TEXT, "client.id"),
    Field("application", Kind.TEXT, "client.id without what tells instances apart"),
    Field("principal", Kind.TEXT, "as whom it authenticated"),
    Field("address", Kind.TEXT, "IP address"),
    Field("listener", Kind.TEXT, "the broker's listener"),
    Field("protocol", Kind.TEXT, "security protocol"),
    Field("broker", Kind.NUMBER, "the broker's id"),
    Field("cluster", Kind.TEXT, "the cluster's id"),
    Field("gateway", Kind.TEXT, "the gateway's id"),
    Field("instance", Kind.TEXT, "client instance id (KIP-1324)"),
    Field("finding", Kind.FINDING, "what is wrong with it: worst severity, a rule, none or not-judged"),
    Field("connections", Kind.NUMBER, "how many it has open"),
    Field("since", Kind.TIME, "when the oldest of them was opened, or how long ago"),
)
"""Of a connected client, and of its connections."""

HISTORY_CLIENTS: Fields = _fields(
    *(CLIENTS[name] for name in ("software", "version", "client_id", "application", "principal", "address")),
    Field("connections", Kind.NUMBER, "how many it had in the time asked about"),
    Field("open", Kind.NUMBER, "how many of them were open at its end"),
    Field("first_seen", Kind.TIME, "when it was first seen in that time"),
    Field("last_seen", Kind.TIME, "when it was last seen in that time"),
)
"""Of a client that history has."""

FINDINGS: Fields = _fields(
    Field("code", Kind.TEXT, "the rule's"),
    Field("name", Kind.TEXT, "the rule's name"),
    Field("severity", Kind.SEVERITY, "how bad it is"),
    Field("state", Kind.CHOICE, "what is to be done", ("open", "stopped", "resolved", "closed")),
    Field("confidence", Kind.CHOICE, "low of what only looks like it", ("high", "low")),
    Field("kind", Kind.CHOICE, "what it is about", ("setting", "leak", "fleet", "operation")),
    Field("principal", Kind.TEXT, "of an application or client that has it"),
    Field("client_id", Kind.TEXT, "of an application or client that has it"),
    Field("owner", Kind.TEXT, "the team that it belongs to"),
    Field("fingerprint", Kind.TEXT, "its first digits and a star"),
    Field("clients", Kind.NUMBER, "how many have it now"),
    Field("since", Kind.TIME, "when it was last opened, or how long ago"),
)
"""Of a finding."""

BROKERS: Fields = _fields(
    Field("software", Kind.TEXT, "name of what it runs"),
    Field("version", Kind.VERSION, "its version"),
    Field("broker", Kind.NUMBER, "its id"),
    Field("cluster", Kind.TEXT, "the cluster's id"),
    Field("host", Kind.TEXT, "where it can be reached"),
    Field("rack", Kind.TEXT, "where it stands"),
    Field("gateway", Kind.TEXT, "the gateway that tells of it"),
    Field("source", Kind.CHOICE, "how its software is known", ("declared", "jmx", "inferred", "unknown")),
)
"""Of a broker."""
