"""Status of clientscope's processes and of the brokers, from ``clientscope.status``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from clientscope.api.clients import ApiRange, BrokerItem, Difference, RangeAt
from clientscope.api.overview import ProcessHealth
from clientscope.catalog.releases import api_name
from clientscope.errors import RecordError
from clientscope.model.codec import decode, read_key
from clientscope.model.status import STALE_AFTER, BrokerStatus, ProcessStatus
from clientscope.query import BROKERS, Query, matches
from clientscope.readiness.judging import oldest_release

MOST_TOLD = 10_000

_PROCESSES = ("gateway", "stream", "query", "deliver", "serve")


Status = TypeVar("Status", ProcessStatus, BrokerStatus)


class StatusTable:
    """The newest of each, at most `MOST_TOLD`; what doesn't fit is counted in ``dropped``.  Times are Kafka's, in ms since the epoch."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._told: dict[bytes, ProcessStatus | BrokerStatus] = {}
        """The newest record of each key; ``told_ms`` is when Kafka took it."""
        self._stale: frozenset[bytes] = frozenset()

    def apply(self, key: bytes | None, value: bytes | None, arrived_ms: int) -> bool:
        """Takes a record; a tombstone has no value.  Returns whether anything changed.

        Raises:
            RecordError: it is no status record.
        """
        kind = read_key(tuple[str, str], key)[0]
        assert key is not None
        if value is None:
            return self._told.pop(key, None) is not None
        if kind not in (*_PROCESSES, "broker"):
            return False  # of a later release
        if key not in self._told and len(self._told) >= MOST_TOLD:
            self.dropped["status"] += 1
            return False
        status = decode(BrokerStatus, value) if kind == "broker" else decode(ProcessStatus, value)
        if status.kind != kind:
            raise RecordError("key")
        self._told[key] = replace(status, told_ms=arrived_ms)
        return True

    def tick(self, now_ms: int) -> bool:
        """Whether a process fell silent, or is back, since the last call."""
        stale = frozenset(key for key, status in self._told.items() if _is_stale(status, now_ms))
        changed, self._stale = stale != self._stale, stale
        return changed

    def health(self, now_ms: int) -> list[ProcessHealth]:
        """Each process and query, by kind and id."""
        found = sorted(self._of(ProcessStatus), key=lambda status: (_PROCESSES.index(status.kind), status.id))
        queries = [status for status in found if status.kind == "query"]
        return [_health(_with_queries(status, queries), now_ms) for status in found]

    def condition(self, kind: str, name: str, now_ms: int) -> str | None:
        """How one process or query is: its condition, ``stale``, or None where it doesn't tell."""
        for status in self._of(ProcessStatus):
            if (status.kind, status.id) == (kind, name):
                return "stale" if _is_stale(status, now_ms) else status.condition
        return None

    def releases(self) -> dict[str, str | None]:
        """By cluster, the oldest release of its brokers, as Kafka has it; None where it isn't known."""
        versions: dict[str, list[str]] = {}
        for status in self._of(BrokerStatus):
            versions.setdefault(status.cluster, []).append(status.software_version)
        return {cluster: oldest_release(of) for cluster, of in versions.items()}

    def brokers(self, now_ms: int, query: Query) -> list[BrokerItem]:
        """Each broker that a query leaves, by cluster and number."""
        found = sorted(self._of(BrokerStatus), key=lambda status: (status.cluster, status.broker))
        items = (_broker(status, now_ms) for status in found)
        return [item for item in items if matches(query, BROKERS, *_searched(item))]

    def _of(self, kind: type[Status]) -> list[Status]:
        return [status for status in self._told.values() if isinstance(status, kind)]


def differences(brokers: list[BrokerItem]) -> list[Difference]:
    """The APIs about which brokers of one cluster don't say the same; of those that could be asked, and still count."""
    found = []
    for cluster in sorted({broker.cluster for broker in brokers}):
        said = {
            broker.broker: {each.api_key: each for each in broker.apis}
            for broker in brokers
            if broker.cluster == cluster and broker.apis is not None and not broker.stale
        }
        for key in sorted({key for apis in said.values() for key in apis}):
            alike: dict[tuple[int, int] | None, list[int]] = {}
            for broker, apis in said.items():
                alike.setdefault((apis[key].lowest, apis[key].highest) if key in apis else None, []).append(broker)
            if len(alike) > 1:
                ranges = [RangeAt(brokers=ids, lowest=each and each[0], highest=each and each[1]) for each, ids in alike.items()]
                found.append(Difference(cluster=cluster, api_key=key, name=api_name(key) or "", ranges=ranges))
    return found


def _searched(broker: BrokerItem) -> tuple[dict[str, object], str]:
    """What fields are asked for, and what words are searched for in."""
    values: dict[str, object] = {
        "software": broker.software_name,
        "version": broker.software_version or "",
        "broker": broker.broker,
        "cluster": broker.cluster,
        "host": broker.host,
        "rack": broker.rack,
        "gateway": broker.gateway,
        "source": broker.source,
    }
    words = (broker.software_name, broker.software_version, broker.cluster, f"{broker.host}:{broker.port}", broker.rack, broker.gateway)
    return values, "\n".join(word for word in words if word).lower()


def _is_stale(status: ProcessStatus | BrokerStatus, now_ms: int) -> bool:
    """Whether a status is out of date; a process that was stopped on request never is."""
    ended = isinstance(status, ProcessStatus) and status.condition == "stopped"
    return not ended and now_ms - status.told_ms > STALE_AFTER * status.interval_ms


def _with_queries(status: ProcessStatus, queries: list[ProcessStatus]) -> ProcessStatus:
    """A status of the job, which reads nothing itself, with what its queries have read, and what the last of them has still to read."""
    if status.kind != "stream":
        return status
    of_queries: dict[str, Any] = {
        name: max((value for query in queries if (value := getattr(query, name)) is not None), default=None)
        for name in ("lag_records", "lag_ms", "last_record_ms")
        if getattr(status, name) is None
    }
    return replace(status, **of_queries)


def _health(status: ProcessStatus, now_ms: int) -> ProcessHealth:
    stale = _is_stale(status, now_ms)
    silent = f"Nothing was heard of it for {(now_ms - status.told_ms) // 1000} seconds."
    return ProcessHealth(**{**asdict(status), "reason": silent if stale else status.reason, "stale": stale})


def _broker(status: BrokerStatus, now_ms: int) -> BrokerItem:
    numbered = {int(key): span for key, span in status.apis.items() if key.isdecimal() and len(key) <= 5}
    ranges = [
        ApiRange(api_key=key, name=api_name(key) or "", lowest=lowest, highest=highest)
        for key, (lowest, highest) in sorted(numbered.items())
    ]
    told = {
        **{each.name: getattr(status, each.name) for each in fields(BrokerItem) if hasattr(status, each.name)},
        "software_name": status.software_name or None,
        "software_version": status.software_version or None,
        "apis": ranges or None,
    }
    return BrokerItem(**told, stale=_is_stale(status, now_ms))
