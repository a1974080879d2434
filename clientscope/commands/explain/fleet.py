"""Values that a setting has in the fleet: how many clients have each, and which, by the records of ``clientscope.configs``.

The topic holds the newest configuration of each client of the last weeks. It is read once, and of each client one value is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple, TypedDict

import pyarrow as pa
from kafka.errors import KafkaError

from clientscope import topics
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import no_broker
from clientscope.kafka.compacted import LatestByKey, by_time
from clientscope.kafka.reader import TopicReader
from clientscope.records.topics import CONFIGS
from clientscope.topic_values import clean
from udfs.kernels.setting_values import SettingValue, setting_values

CLIENT_ID = "clientscope-explain"
MOST_CLIENTS = 200_000
"""As many as the page indexes; those of more are counted, and not looked at."""
MOST_VALUES = 1_000
"""Different values of the whole fleet; the clients of others are counted together."""
MOST_LISTED = 10
"""Values of a library that are listed, the most frequent ones."""
MOST_NAMES = 3
_LONGEST = 100
"""Characters of a value or name that are kept."""


class FleetValue(TypedDict):
    """Clients of one library that have the same value.

    Attributes:
        withheld: why the value is; None where it isn't.
        set_by: how many of them say that their user set it.
        applications: different client ids, without what tells one instance from another; ``names`` are the first of them.
    """

    value: str | None
    withheld: str | None
    clients: int
    set_by: int
    applications: int
    names: list[str]


class FleetOf(TypedDict):
    """A library's clients whose value is known: the most frequent values, and how many clients have any other."""

    clients: int
    values: list[FleetValue]
    others: int


class _Kept(NamedTuple):
    """Of one record: the place of its value, -1 for none and -2 for one of too many; and whose it is."""

    value: int
    names: int
    application: str
    rank: int


class FleetValues:
    """The newest value of each client.

    Attributes:
        left_out: records of clients beyond `MOST_CLIENTS`.
    """

    def __init__(
        self,
        key: str,
        names: Collection[str],
        kinds: Collection[str] = (),
        most_clients: int = MOST_CLIENTS,
        most_values: int = MOST_VALUES,
    ) -> None:
        """
        Args:
            key: Kafka's name of the setting.
            names: what the libraries call it.
            kinds: clients that have it; none for any.
        """
        self.left_out = 0
        self._key, self._names, self._kinds = key, names, kinds
        self._most_clients, self._most_values = most_clients, most_values
        self._values: dict[SettingValue, int] = {}
        self._kept: dict[bytes, _Kept] = {}

    def take(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Takes in records, keys and values, in their order; a later one replaces one of the same key."""
        newest = dict(records)
        for key, value in newest.items():
            if value is None:
                self._kept.pop(key, None)
        there = [(key, value) for key, value in newest.items() if value is not None]
        found = (
            setting_values(pa.array([value for _, value in there], pa.large_binary()), self._key, self._names, self._kinds) if there else []
        )
        for (key, _), client in zip(there, found, strict=True):
            if client is None:
                self._kept.pop(key, None)
            elif key not in self._kept and len(self._kept) >= self._most_clients:
                self.left_out += 1
            else:
                self._kept[key] = _Kept(self._place(client.value), hash(client.names), clean(client.application, _LONGEST), client.rank)

    def by_library(self) -> dict[str, FleetOf]:
        """Library → its clients; software that isn't known under the empty name.

        What others have seen of a client counts only where the client doesn't say it itself.
        """
        says = {(kept.names, kept.rank) for kept in self._kept.values() if kept.value != -1}
        clients: Counter[int] = Counter()
        names: dict[int, set[str]] = {}
        for kept in self._kept.values():
            if kept.value == -1 or (kept.rank and (kept.names, 0) in says):
                continue
            clients[kept.value] += 1
            names.setdefault(kept.value, set()).add(kept.application)
        merged: dict[tuple[str, str | None, str | None], list[SettingValue]] = {}
        for value in self._values:
            if self._values[value] in clients:
                merged.setdefault((value.library, value.value, value.reason), []).append(value)
        found: dict[str, list[FleetValue]] = {}
        for (library, text, reason), values in merged.items():
            places = [self._values[value] for value in values]
            applications = sorted({name for place in places for name in names[place]} - {""})
            found.setdefault(library, []).append(
                {
                    "value": text,
                    "withheld": reason,
                    "clients": sum(clients[place] for place in places),
                    "set_by": sum(clients[self._values[value]] for value in values if value.is_set),
                    "applications": len(applications),
                    "names": applications[:MOST_NAMES],
                }
            )
        return {library: _fleet(values) for library, values in found.items()}

    @property
    def unknown(self) -> int:
        """Clients that may have the setting, and don't say it."""
        return sum(kept.value == -1 for kept in self._kept.values())

    @property
    def beyond(self) -> int:
        """Clients whose value is one of too many."""
        return sum(kept.value == -2 for kept in self._kept.values())

    def _place(self, value: SettingValue | None) -> int:
        if value is None:
            return -1
        short = value._replace(value=None if value.value is None else clean(value.value, _LONGEST))
        if short not in self._values and len(self._values) >= self._most_values:
            return -2
        return self._values.setdefault(short, len(self._values))


def read(kafka: KafkaAccess, key: str, names: Collection[str], kinds: Collection[str]) -> FleetValues:
    """The values of a setting, from the topic.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
    """
    topics.verify(kafka, reads=(CONFIGS,))
    found = FleetValues(key, names, kinds)
    try:
        with closing(TopicReader(kafka, CLIENT_ID)) as reader:
            ranges = reader.ranges(CONFIGS)
            reader.seek(ranges)
            latest = LatestByKey(ranges)
            for batches in reader.read():
                records = [record for record in by_time(batches) if record.key is not None and latest.is_latest(record)]
                found.take([(record.key, record.value) for record in records])
    except (KafkaError, TimeoutError) as error:
        raise no_broker(kafka, error) from None
    return found


def notes(found: FleetValues, libraries: Mapping[str, FleetOf], shown: Iterable[str]) -> list[str]:
    """What is left out of what is shown, a sentence each."""
    elsewhere = sum(of["clients"] for library, of in libraries.items() if library not in {*shown})
    said = [
        (found.unknown, "don't say their value of it"),
        (elsewhere, "are of other software"),
        (found.beyond, f"have other values than the first {MOST_VALUES:,}"),
        (found.left_out, f"are beyond the {MOST_CLIENTS:,} that are read"),
    ]
    return [f"{number:,} client{'s' * (number != 1)} {text}" for number, text in said if number]


def _fleet(values: list[FleetValue]) -> FleetOf:
    values.sort(key=lambda each: (-each["clients"], each["value"] or ""))
    rest = sum(each["clients"] for each in values[MOST_LISTED:])
    return {"clients": rest + sum(each["clients"] for each in values[:MOST_LISTED]), "values": values[:MOST_LISTED], "others": rest}
