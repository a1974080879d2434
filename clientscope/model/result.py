"""Records of ``clientscope.results``: the verdicts of all rules on each client's newest push, and its settings as they may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from pydantic import Field

from clientscope.errors import RecordError
from clientscope.model.codec import decode
from clientscope.model.enums import Origin
from clientscope.model.fields import ClientKey, Count, GivenName, Id32, Id64, Ms, Name, SecurityProtocol, Uuid, Version, record
from clientscope.model.setting import Redaction, Setting
from clientscope.severities import Severity

MOST_BYTES = 500_000
"""Of a value with the settings in it; one with more names none. Producers send 1 MiB at most."""

SOURCE_PLACE = "clientscope.source"
"""Header of a tombstone: partition, offset and time of the one on ``clientscope.configs`` that it follows from, with slashes between."""

ClientTypeName = Literal["producer", "consumer", "share-consumer", "admin", "streams"]
"""`clientscope.catalog.configs.ClientType`."""

Codes = tuple[Name, ...]
"""Codes of rules."""

Compared = str | Redaction | None
"""A value of a setting, or why it isn't there."""


Outcome = Literal["not_evaluable", "passed", "fired"]
"""Of a rule on a push: what it needs is missing, the push passes, or the rule fires."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of one push, or of a file's client.

    Attributes:
        code, name: the rule's.
        settings: those that decided, with their effective values.
    """

    code: Name
    name: Name
    severity: Severity
    message: str
    settings: tuple[Setting, ...] = ()
    outcome: Outcome = "fired"


@record
class PushResult:
    """Value of ``clientscope.results``: the verdicts of all rules on one push. A rule that doesn't apply to its client is in no list.

    Attributes:
        topic, partition, offset: where the push is.
        appended_ms: when Kafka took the push, in ms since the epoch.
        received_ms: when the gateway did.
        application: a JSON list of the principal, client.id and group.id.
        client: the key of the push, which is its client's, and the record's own.
        client_type: which of Kafka's clients it is; None where that isn't known.
        member: its group.instance.id; None where it has none, or it was redacted.
        transactional: whether it has a transactional.id.
        setting_count: how many settings the push has.
        redacted_count: how many of these have no value.
        rules: those that fired, and why.
        passed: codes of those that found nothing.
        not_evaluable: codes of those that couldn't judge.
        unsearched: whether it has unknown names for which the name that is meant wasn't looked for: there were too many beside it.
        written: keys of secrets that the push contains, since no gateway redacted them.
        configuration: its settings but for those that instances of one application rightly differ in; of a redacted one, why it has no
            value. Where the record's value would have more than 500,000 bytes this is None, and ``rules`` have no settings.
    """

    version: Version
    topic: Name
    partition: Id32
    offset: Id64
    appended_ms: Ms
    received_ms: Ms
    cluster: GivenName
    broker: Id32
    gateway: GivenName
    epoch: Id64
    connection: Annotated[int, Field(ge=-1, le=2**63 - 1)]
    listener: Name
    security_protocol: SecurityProtocol
    address: Name
    principal: Name | None = None
    client_id: Name | None = None
    software_name: Name
    software_version: Name
    instance_id: Uuid | None = None
    origin: Origin
    application: str
    client: ClientKey
    client_type: ClientTypeName | None = None
    member: Name | None = None
    transactional: bool = False
    # Clients with the same configuration have the same from here on (`ResultReader`).
    setting_count: Count
    redacted_count: Count
    rules: tuple[Verdict, ...] = ()
    passed: Codes = ()
    not_evaluable: Codes = ()
    unsearched: bool = False
    written: tuple[str, ...] = ()
    configuration: Mapping[str, Compared] | None = field(default_factory=dict)


_NAMES = [each.name for each in fields(PushResult)]
_ALIKE = _NAMES[_NAMES.index("setting_count") :]
_BEGIN, _NOTHING = b',"setting_count":', b',"setting_count":0,"redacted_count":0}'

_MOST_ALIKE_BYTES = 32 * 1024 * 1024
"""Of what is remembered, as JSON; beyond it goes what was read longest ago, and what is in use lives on."""


class ResultReader:
    """Reads results. What those of clients with the same configuration have in common is read once, and is the same objects, so that time
    and memory grow with a fleet's configurations rather than with its clients.
    """

    def __init__(self) -> None:
        self._alike: dict[bytes, dict[str, Any]] = {}
        self._bytes = 0

    def read(self, value: bytes) -> PushResult:
        """A topic's value as a record.

        Raises:
            RecordError: as `clientscope.model.codec.decode`.
        """
        # Within a text a quotation mark is escaped, so this is the field, and what is before it that of the client alone.
        who, begin, alike = value.partition(_BEGIN)
        try:
            result = decode(PushResult, who + _NOTHING)
        except RecordError:
            return decode(PushResult, value)
        if not begin or any(getattr(result, name) for name in _ALIKE):  # not as the job writes it
            return decode(PushResult, value)
        known = self._alike.pop(alike, None)
        if known is None:
            whole = decode(PushResult, value)
            known = {name: getattr(whole, name) for name in _ALIKE}
            self._bytes += len(alike)
        self._alike[alike] = known  # behind all others
        while self._bytes > _MOST_ALIKE_BYTES:
            oldest = next(iter(self._alike))
            del self._alike[oldest]
            self._bytes -= len(oldest)
        for name, each in known.items():  # nobody has it yet; `replace` takes half of the time that this saves
            object.__setattr__(result, name, each)
        return result
