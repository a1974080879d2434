"""Starts of logged clients in one run, and the live clients that they are."""

from __future__ import annotations

from clientscope.commands.imports.joining import LoggedStart, RecordedClient, RecordedClients, join
from clientscope.policy.found_clients import AddedClient
from clientscope.records.principals import authenticated

MOST_STARTS = 100_000


class LoggedStarts:
    """All of them, since each explains what is seen of its client.

    Attributes:
        too_many: there are more than `MOST_STARTS`, so none is joined.
    """

    def __init__(self) -> None:
        self.too_many = False
        self._starts: list[LoggedStart] = []
        self._newest: dict[str, int] = {}

    @property
    def client_ids(self) -> frozenset[str]:
        """Their names, as records have them."""
        return frozenset(start.client_id for start in self._starts)

    def add(self, added: AddedClient, library: str, started_ms: int | None) -> None:
        """Takes the start of a client that is published, or of an earlier one of its starts."""
        if len(self._starts) >= MOST_STARTS:
            self.too_many = True
            return
        names = added.context
        principal = authenticated(names.principal)
        if added.taken:
            self._newest[names.client_key] = len(self._starts)
        self._starts.append(
            LoggedStart(
                names.client_key,
                names.client_id or "",
                library,
                names.software_version,
                principal,
                names.principal is not None,
                started_ms,
            )
        )

    def forget(self, before_ms: int) -> None:
        """Forgets starts of before then, and those without a time."""
        left = [(start, self._newest.get(start.key) == number) for number, start in enumerate(self._starts)]
        left = [(start, newest) for start, newest in left if start.started_ms is not None and start.started_ms >= before_ms]
        self._starts = [start for start, _ in left]
        self._newest = {start.key: number for number, (start, newest) in enumerate(left) if newest}
        self.too_many = False

    def joined(self, seen: RecordedClients) -> dict[str, RecordedClient]:
        """Of each client that is certainly a live one: its record's key → that client."""
        if self.too_many:
            return {}
        return join((start._replace(last=self._newest.get(start.key) == number) for number, start in enumerate(self._starts)), seen)
