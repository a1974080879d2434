"""An oracle of findings and gauges: what docs/findings.md, docs/observed.md and docs/gauges.md say, by looking at all records each time.

It is slow and plain, and shares no code with the job. Records are as JSON has them: a push is a value of ``clientscope.results``, or of a
tombstone the client and the place alone; what happened to a connection is a value of ``clientscope.inputs``. If times of Kafka jump, each
topic must have one partition.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cmp_to_key
from operator import itemgetter
from typing import Any

Json = Mapping[str, Any]
Connection = tuple[tuple[str, int, str], int, int]
"""Gateway, epoch and number."""

SEVERITIES = ("info", "low", "medium", "high", "critical")
SAID = ("code", "kind", "state", "severity", "confidence", "sentence", "settings", "client_count", "first_seen_ms", "last_seen_ms")
"""What is compared of a finding, as it is on its topic."""
FROM = ("sequence", "timestamp_ms", "opened_per_minute", "closed_per_minute")
"""Which record a figure is from, and when: a later one with the same figures changes nothing. A rate is of the last minute."""
SECRETS = ("SK001", "SK002", "SK004")
OF_ONE_SETTING = (*SECRETS, "SK003", "SK005")
GRACE_MS, QUIET_MS, LOST_MS, MINUTE_MS = 30_000, 10 * 60_000, 24 * 60 * 60_000, 60_000


def in_order(records: Iterable[Json]) -> list[Json]:
    """The newest last: by offset within a partition, by Kafka's time between partitions."""

    def later(one: Json, other: Json) -> int:
        by = ("offset",) if one["partition"] == other["partition"] else ("appended_ms", "offset")
        return next((difference for name in by if (difference := one[name] - other[name])), 0)

    return sorted(records, key=cmp_to_key(later))


def of_gateways(inputs: Iterable[Json]) -> dict[tuple[str, int, str], list[Json]]:
    """The records of each gateway's newest process, each once, in the order in which it wrote them."""
    found: dict[tuple[str, int, str], dict[tuple[int, int], Json]] = defaultdict(dict)
    for each in inputs:
        gateway, epoch, _ = connection_of(each)
        found[gateway].setdefault((epoch, each["record"]["sequence"]), each)
    return {
        gateway: [each for at, each in sorted(records.items(), key=lambda item: item[0]) if at[0] == max(records)[0]]
        for gateway, records in found.items()
    }


def connection_of(each: Json) -> Connection:
    """The one that an input is about, or that a client pushed on."""
    said = each.get("record", each)
    return (said["cluster"], said["broker"], said["gateway"]), said["epoch"], said.get("connection", -1)


def whereabouts(cluster: str, principal: str | None, client_id: str | None, address: str) -> tuple[str | None, ...]:
    """What connections of one client, and of its like on the same host, have in common."""
    return cluster, None if principal == "User:ANONYMOUS" else principal, client_id, address


def of_push(push: Json) -> tuple[str | None, ...]:
    """Those of a client that pushed, or of which something was seen."""
    return whereabouts(push["cluster"], push.get("principal"), push.get("client_id"), push["address"])


def is_seen(push: Json) -> bool:
    """Whether others saw that, rather than that the client said it."""
    return bool(push["origin"] != "pushed")


class Fleet:
    """Who is there at a time, and what each client has pushed.

    Attributes:
        open: the connections that are, and whose.
        pushes: all but those of clients that were erased since, in order.
        newest: each client's, but for the clients that are ``forgotten``: gone for an hour, and no push since.
        live: the clients that are connected.
    """

    def __init__(self, pushes: Iterable[Json], inputs: Sequence[Json], now_ms: int, forgotten: Container[str] = ()) -> None:
        self.open: dict[Connection, tuple[str | None, ...]] = {}
        for records in of_gateways(inputs).values():
            self.open |= _open(records, now_ms)
        closed = {connection_of(each) for each in inputs if each["record"]["kind"] == "closed"}
        self.pushes: list[Json] = []
        for each in in_order(pushes):
            if "origin" in each:
                self.pushes.append(each)
            else:
                self.pushes = [push for push in self.pushes if push["client"] != each["client"]]
        self.newest = {push["client"]: push for push in self.pushes if push["client"] not in forgotten}
        alike: dict[tuple[Any, ...], Json] = {}
        for push in in_order(self.newest.values()):
            alike[of_push(push), is_seen(push) and push.get("client_type")] = push
        self.live = set()
        for client, push in self.newest.items():
            on = connection_of(push)
            is_fresh = now_ms - push["appended_ms"] < GRACE_MS and on not in closed
            is_newest = any(push is each for each in alike.values())
            if not self.is_declared(push) and (is_fresh or on in self.open or (is_newest and of_push(push) in self.open.values())):
                self.live.add(client)
        self._has = {client: problems(self.newest[client]) for client in self.live}

    def is_declared(self, push: Json) -> bool:
        """Whether this was seen of a client that has pushed its configuration."""
        names = of_push(push), push.get("client_type")
        pushed = (each for each in self.newest.values() if not is_seen(each))
        return is_seen(push) and any((of_push(each), each.get("client_type")) == names for each in pushed)

    def having(self, which: str) -> list[Json]:
        """The newest pushes of the connected clients that have a problem."""
        return [self.newest[client] for client, found in self._has.items() if which in found]


def _open(records: Iterable[Json], now_ms: int) -> dict[Connection, tuple[str | None, ...]]:
    """Of one process; none once it has said goodbye, or was silent for a day."""
    found: dict[Connection, tuple[str | None, ...]] = {}
    heard_ms = None
    for each in records:
        said = each["record"]
        if said["kind"] == "closed":
            found.pop(connection_of(each), None)
        elif said["kind"] != "heartbeat":
            found[connection_of(each)] = whereabouts(said["cluster"], said.get("principal"), said.get("client_id"), said["address"])
        elif not said.get("heartbeat_interval_ms"):
            found = {}
        if heard_ms is None or said["kind"] == "heartbeat":
            heard_ms = each["appended_ms"]
    return found if heard_ms is not None and now_ms - heard_ms <= LOST_MS else {}


def identity(code: str, application: str, settings: Sequence[Json]) -> str:
    """What a fingerprint is of: a secret's digest; or the rule, the application and, where it has one for each, the setting."""
    if code in SECRETS and (digest := settings[0]["redacted"].get("digest")):
        return str(digest)
    return f"{code} {application} {settings[0]['key'] if code in OF_ONE_SETTING else ''}"


def problems(push: Json) -> dict[str, tuple[Json, Sequence[Json]]]:
    """All that is wrong with a push by `identity`: which rule fired, the worst if several did, and the settings that decided."""
    found: dict[str, tuple[Json, Sequence[Json]]] = {}
    for rule in push.get("rules", ()):
        all_settings = rule.get("settings", ())
        for settings in ([each] for each in all_settings) if rule["code"] in OF_ONE_SETTING else (all_settings,):
            which = identity(rule["code"], push["application"], settings)
            if which not in found or SEVERITIES.index(rule["severity"]) > SEVERITIES.index(found[which][0]["severity"]):
                found[which] = rule, settings
    return found


def findings(pushes: Sequence[Json], inputs: Sequence[Json], now_ms: int, forgotten: Container[str] = ()) -> dict[str, dict[str, Any]]:
    """Findings of single applications and of secrets, by `identity`, as long as no person has decided anything."""
    fleet = Fleet(pushes, inputs, now_ms, forgotten)
    had: dict[str, list[Json]] = defaultdict(list)
    for push in fleet.pushes:
        for which, (rule, _) in problems(push).items():
            if rule["code"] in SECRETS or not fleet.is_declared(push):
                had[which].append(push)
    found = {}
    for which, of in had.items():
        rule, settings = problems(of[-1])[which]
        is_leak, having, times = rule["code"] in SECRETS, fleet.having(which), [push["appended_ms"] for push in of]
        places = {_place(which, push): push for push in of}
        ended = all(_passed(fleet, which, rule["code"], push) for push in places.values())
        if is_leak and not ended and max(times) <= now_ms - QUIET_MS:
            ended = _is_quiet(which, pushes, inputs, now_ms, forgotten)
        found[which] = {
            "code": rule["code"],
            "kind": "leak" if is_leak else "setting",
            "state": "open" if having or not ended else "stopped" if is_leak else "resolved",
            "severity": max((problems(push)[which][0]["severity"] for push in having or of[-1:]), key=SEVERITIES.index),
            "confidence": "low" if rule["code"] == "SK004" else "high",
            "application": of[-1]["application"],
            "sentence": rule["message"],
            "settings": [{"origin": "set", **each} for each in settings],
            "clients": {push["client"] for push in having},
            "client_count": len({(of_push(push), push.get("client_type")) if is_seen(push) else push["client"] for push in having}),
            "places": {place: sum(_place(which, push) == place for push in having) for place in places if is_leak},
            "first_seen_ms": min(times),
            "last_seen_ms": max(times),
        }  # fmt: skip
    return found


def _place(which: str, push: Json) -> tuple[str, str]:
    """The application and, of a secret, the setting."""
    rule, settings = problems(push)[which]
    return push["application"], settings[0]["key"] if rule["code"] in SECRETS else ""


def _passed(fleet: Fleet, which: str, code: str, last: Json) -> bool:
    """Whether a push of the application since the last one with the problem is without it, and its rule could judge that."""
    since = fleet.pushes[fleet.pushes.index(last) + 1 :]
    return any(
        push["application"] == last["application"]
        and which not in problems(push)
        and code not in push.get("not_evaluable", ())
        and not fleet.is_declared(push)
        for push in since
    )


def _is_quiet(which: str, pushes: Sequence[Json], inputs: Sequence[Json], now_ms: int, forgotten: Container[str]) -> bool:
    """Whether no connected client has had a secret for ten minutes: when they began, or after any record since."""
    since_ms = now_ms - QUIET_MS
    records = sorted((each for each in (*pushes, *inputs) if each["appended_ms"] <= now_ms), key=itemgetter("appended_ms"))
    earlier = sum(each["appended_ms"] <= since_ms for each in records)

    def had(count: int) -> bool:
        at_ms = records[count - 1]["appended_ms"] if count > earlier else since_ms
        happened = [each for each in records[:count] if "record" in each]
        before = [each for each in records[:count] if "record" not in each]
        return bool(Fleet(before, happened, at_ms, forgotten).having(which))

    return not any(map(had, range(earlier, len(records) + 1)))


def recorded(values: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """What values of ``clientscope.findings`` say of the same."""
    found = {}
    for each in values:
        if each["kind"] in ("leak", "setting"):
            application = _application(each["application"])
            which = identity(each["code"], application, each["settings"])
            assert which not in found
            found[which] = {name: each[name] for name in SAID} | {
                "application": application,
                "clients": {client["key"] for client in each["clients"] if client.get("disconnected_ms") is None},
                "places": {(_application(place["application"]), place["key"]): place["clients"] for place in each["places"]},
            }
    return found


def _application(of: Json) -> str:
    return _key(of.get(name) for name in ("principal", "client_id", "group"))


def _key(parts: Iterable[Any]) -> str:
    return json.dumps(list(parts), ensure_ascii=False, separators=(",", ":"))


def gauges(inputs: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """Values of ``clientscope.gauges`` by key, of gateways that are there: without `FROM`, and without rates."""
    found: dict[str, dict[str, Any]] = {}
    for gateway, records in of_gateways(inputs).items():
        counts: dict[tuple[str, ...], tuple[int, Json]] = {}
        parts: Counter[int] = Counter()
        heartbeat: Json | None = None
        for each in records:
            said = each["record"]
            for of in said.get("counts", ()):
                counts[of["listener"], of["software_name"], of["software_version"]] = said["sequence"], of
            if said["kind"] == "heartbeat":
                heartbeat, begin = each, said["sequence"] - said.get("heartbeat_part", 0)
                parts[begin] += 1
                if parts[begin] == said["heartbeat_parts"]:
                    counts = {series: count for series, count in counts.items() if count[0] >= begin}
                if not said.get("heartbeat_interval_ms"):
                    heartbeat, counts = None, {}
        whose = dict(zip(("cluster", "broker", "gateway"), gateway, strict=True))
        whose |= {"version": 1, "epoch": records[-1]["record"]["epoch"]}
        if heartbeat is not None:
            found[_key(gateway)] = whose | _of_gateway(heartbeat)
        for series, (_, of) in counts.items():
            if of["connections"]:
                numbers = {"kind": "series", "connections": of["connections"], "opened": of["opened"], "closed": of["closed"]}
                named = dict(zip(("listener", "software_name", "software_version"), series, strict=True))
                found[_key([*gateway, *series])] = whose | named | numbers
    return found


def _of_gateway(heartbeat: Json) -> dict[str, Any]:
    said = heartbeat["record"]
    skew_ms = said["timestamp_ms"] - heartbeat["appended_ms"]
    return {
        "kind": "gateway",
        "instances": said.get("instances", 0),
        "opened": said.get("opened", 0),
        "closed": said.get("closed", 0),
        "heartbeat_interval_ms": said["heartbeat_interval_ms"],
        "host": said.get("host", ""),
        "clock_skew_minutes": round(skew_ms / MINUTE_MS) if abs(skew_ms) > 5 * MINUTE_MS else 0,
    }


def recorded_gauges(values: Mapping[str, Json]) -> dict[str, dict[str, Any]]:
    """What values of ``clientscope.gauges`` say of the same."""
    return {key: {name: each for name, each in value.items() if name not in FROM} for key, value in values.items()}
