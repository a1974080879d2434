"""Clients with the same settings, judged once: an inventory → what the rules read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.sensitive_names import LEAKED_AS, judge_name
from clientscope.commands.lint import shown
from clientscope.commands.lint.findings import Instance, Read
from clientscope.commands.lint.judging import Subject, application_client_ids
from clientscope.commands.lint.places import Placed, Region
from clientscope.commands.xray.inventory import ClientKey, InventoriedClient, Inventory, Place
from clientscope.records.enums import ValueState


@dataclass
class SeenConfiguration:
    """Settings that one or more clients of an application were seen with.

    Attributes:
        application: client.id without its instance part.
        client_type: None for clients that sent nothing that shows it.
        settings: Kafka's name → value and where it was first seen.
        contradicted: settings with several values, as of clients that share an identity.
        clients: how many clients were seen with them.
    """

    key: ClientKey
    application: str
    client_type: ClientType | None
    place: Place
    settings: dict[str, tuple[str, Place]]
    contradicted: frozenset[str]
    clients: int = 1
    connections: int = 0
    group: str = field(init=False)

    def __post_init__(self) -> None:
        self.group = self.settings.get("group.id", ("",))[0]


def applications(inventory: Inventory) -> dict[ClientKey, str]:
    """Each client's application, by its client.id, in the order in which they were first seen; brokers are left out."""
    keys = [key for key, client in inventory.clients.items() if not client.acts_as_broker]
    return dict(zip(keys, (each or "" for each in application_client_ids([key.client_id or None for key in keys])), strict=True))


def configurations(inventory: Inventory, of: Mapping[ClientKey, str]) -> list[SeenConfiguration]:
    """Every different one, in the order in which they were first seen.

    Args:
        of: the clients, with their applications.
    """
    different: dict[tuple[object, ...], SeenConfiguration] = {}
    for key, application in of.items():
        client = inventory.clients[key]
        for client_type in client.client_types or (None,):
            made = _of(key, client, client_type, application)
            values = frozenset((name, value) for name, (value, _) in made.settings.items() if name != "client.id")
            same = (key.principal, application, key.software_name, key.software_version, client_type, values, made.contradicted)
            if (before := different.get(same)) is not None:
                before.clients += 1
                before.connections += len(client.connections)
            else:
                made.connections = len(client.connections)
                different[same] = made
    return list(different.values())


def _of(key: ClientKey, client: InventoriedClient, client_type: ClientType | None, application: str) -> SeenConfiguration:
    settings = {name: found for (of, name), found in client.settings.items() if of is client_type}
    if key.client_id:
        settings["client.id"] = key.client_id, client.place
    said = {"client_software_name": key.software_name, "client_software_version": key.software_version, "principal": key.principal}
    for which, name in said.items():
        if judge_name(name, False) is ValueState.VALUE_SHAPE:  # which a finding is to say
            settings[LEAKED_AS[which]] = name, client.place
    contradicted = frozenset(name for of, name in client.contradicted if of is client_type)
    return SeenConfiguration(key, application, client_type, client.place, settings, contradicted)


def reads(found: Iterable[SeenConfiguration]) -> Iterator[Read]:
    """What the rules read of each."""
    for each in found:
        library = dialect_of(each.key.software_name)
        values = {name: value for name, (value, _) in each.settings.items()}
        subject = Subject(
            values,
            library or JAVA,
            each.key.software_version,
            each.client_type,
            each.key.principal,
            {name: name for name in values},
            each.key.software_name,
            observed=True,
        )
        log = shown.plain(each.place.log)
        placed = {name: _placed(name, value, place) for name, (value, place) in each.settings.items() if place.log == each.place.log}
        notes = []
        if each.contradicted:
            names = ", ".join(sorted(each.contradicted)[:3])
            notes.append((each.place.line, f"{names}: several values were seen under this identity, so these settings are not judged"))
        instance = Instance(
            shown.client_name(each.key.client_id),
            shown.client_name(each.key.software_version, "client_software_version"),
            each.place.line,
            each.clients,
        )
        yield Read(log, placed, (subject,), tuple(notes), instance, each.key.principal)


def _placed(name: str, value: str, place: Place) -> Placed:
    return Placed(name, value, Region(place.line, 1, place.line, 1), f"{name} = {value}", place.line)
