"""Page of one client: its state in memory, and its configurations, read from Kafka on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clientscope.api.clients import ClientDetail, ClientStart, Configuration
from clientscope.errors import EnvironmentProblem, RecordError
from sinks.dashboard.rows.pushes import IndexedPush
from sinks.dashboard.state.configuration import configuration
from sinks.dashboard.state.fetching import Fetch, Place
from sinks.dashboard.state.starts import changes
from sinks.dashboard.state.state import MOST_STARTS, LastRead, State

_NEVER = "It has not pushed its configuration (KIP-1324), and nothing of it was seen on the wire."
_GONE = "Its configuration is no longer on the topic: a newer one is on its way, or it is gone."


class OneClient:
    """Makes the page."""

    def __init__(self, state: State, fetch: Fetch | None = None) -> None:
        """
        Args:
            fetch: reads configurations; without it, none are shown.
        """
        self._state = state
        self._fetch = fetch

    def detail(self, key: str, now_ms: int) -> ClientDetail | None:
        """All about the client of this key; None where there is no such client."""
        seen = self._state.one_client(key)
        if seen is None:
            return None
        read, why = self._configurations(seen)
        own = _own(seen, read)
        if own is None and not why:
            why = _GONE if seen.push else _NEVER
        judged = seen.client.findings is not None or bool(seen.findings)
        return ClientDetail(
            version=seen.version,
            feed=seen.feed,
            client=seen.client,
            connected=seen.connected,
            connections=list(seen.connections),
            configuration=own,
            why=why or None,
            findings=list(seen.findings) if judged else None,
            not_judged_by=seen.not_judged_by,
            starts=[] if _is_seen(seen) else _starts(seen, read) if own else None,
            starts_of="application" if seen.starts_of_application else "client",
        )

    def _configurations(self, seen: LastRead) -> tuple[dict[Place, Configuration], str]:
        """What its pushes say, by place, and why there is nothing to say."""
        if seen.push is None:
            return {}, ""
        if self._fetch is None:
            return {}, "Configurations are not read here."
        pushes = {_place(push): push for push in (seen.push, *seen.starts)}
        try:
            values = self._fetch(list(pushes))
        except EnvironmentProblem as error:
            return {}, f"{error}."
        found, why = {}, ""
        for place, value in values.items():
            try:
                found[place] = configuration(value, pushes[place].pushed_ms)
            except RecordError as error:
                why = f"Its record can't be decoded ({error.reason})."
        return found, "" if _place(seen.push) in found else why


def _is_seen(seen: LastRead) -> bool:
    """Whether nothing of its configuration is known but what its requests show."""
    return seen.push is not None and seen.push.rank > 0


def _own(seen: LastRead, read: Mapping[Place, Configuration]) -> Configuration | None:
    """Its configuration. Each gateway sees the requests that pass it: what the newest record lacks is taken from the others."""
    own = read.get(_place(seen.push)) if seen.push else None
    if own is None or not _is_seen(seen) or seen.starts_of_application:
        return own
    others = [read[place] for place in map(_place, reversed(seen.starts)) if place in read]
    settings = {setting.key: setting for each in (*others, own) if each.client_type == own.client_type for setting in each.settings}
    return own.model_copy(update={"settings": [settings[key] for key in sorted(settings)]})


def _starts(seen: LastRead, read: Mapping[Place, Configuration]) -> list[ClientStart]:
    """The newest first; each compared with the one before of the same kind of client, since a producer and a consumer may share a name."""
    assert seen.push is not None
    kind = read[_place(seen.push)].client_type
    alike = [push for push in seen.starts if (known := read.get(_place(push))) is None or known.client_type == kind]
    return [_start(push, alike[number + 1 :], read, push == seen.push) for number, push in enumerate(alike[:MOST_STARTS])]


def _start(push: IndexedPush, older: Sequence[IndexedPush], read: Mapping[Place, Configuration], this: bool) -> ClientStart:
    now = read.get(_place(push))
    before = read.get(_place(older[0])) if older else None
    return ClientStart(
        instance_id=push.instance,
        client_id=push.client_id or None,
        address=push.address,
        software_name=push.software,
        software_version=push.version,
        pushed_ms=push.pushed_ms,
        this=this,
        changes=None if now is None or before is None else changes(before, now),
    )


def _place(push: IndexedPush) -> Place:
    return push.partition, push.offset
