"""Clients as their requests show them: what connections of one client have shown, as records of ``clientscope.configs``.

Connections of one principal, client.id, address and library are one client: a consumer's groups and its fetches go over different ones.
Where they show different values of a setting, the client has all of them. A client is recorded once for each type that it is (a producer
and a consumer may share their names), some seconds after something new was seen. Its record has an instance id made of its names and of
the gateway's, so it is replaced by the next one.

No I/O; time is passed in. All of it in the gateway's event loop.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from clientscope.bounded import Present, Recent, Shared
from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.request_settings import BETWEEN, shown_settings, shown_types
from clientscope.clock import now_ms
from clientscope.digest import identifier
from clientscope.gateway.quota import PushQuota
from clientscope.gateway.registry import Connection, ConnectionRegistry
from clientscope.model.client import Client
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.codec import encode
from clientscope.model.enums import Origin
from clientscope.model.setting import Setting
from clientscope.policy.interface import ClientConfig, ClientConfigData, RequestContext
from clientscope.policy.publishing import config_record, redacted_settings
from clientscope.session.shown import MOST_HELD
from clientscope.session.state import RequestFields

_NAMESPACE = uuid.UUID("5f0f3d2c-6a0e-5c52-9d53-0d7f5b1a4e11")
"""Of instance ids of clients that have none of their own."""
MOST_VALUES = 8
"""Values of one setting that are recorded."""
MOST_OF_TENANT = 40_000
"""Different requests that are kept of one principal's clients, or of one address's: a client's same ones count once; it has about five."""
MOST_KEPT = 100_000
"""The same of all clients."""
SETTLE_S = 5.0
"""How long news of a client are gathered: its first connections open one after the other."""
UNSHOWN_S = 30.0
"""The same of a client of which nothing is known but that its names hold a credential: its requests may say what kind of client it is."""
REPEAT_S = 30 * 60.0
"""A client that comes back with the same settings is recorded again after so long: the job forgets who has been gone for an hour."""

_NO_RACK = ("rackId", "")
"""What a Fetch request has that could say where its client is, and doesn't."""
_NAMES = RequestFields(-1, 0, ())
"""In place of a request: the client's names hold a credential, which is recorded though no request has shown a setting."""
_A_TURN = 50
"""Clients that are recorded before others have a turn in the event loop: one takes some 0.1 ms."""
_MOST_EARLIER = 16
"""Different requests of a client's closed connections that are kept beside those of its open ones."""
_MOST_REMEMBERED = 20_000
"""Clients whose last record is remembered; one beyond that is recorded again when it comes back, within the quota."""

Settings = Mapping[str, str]


@dataclass
class _Shown:
    """What one client's requests have shown.

    Attributes:
        requests: what its open connections have shown, each with how many of them have.
        connections: those that have shown something, the newest last.
        earlier: what closed ones have shown and no open one has, the newest last: a setting that nothing else shows is still the client's.
    """

    requests: Present[RequestFields] = field(default_factory=Present)
    connections: dict[int, None] = field(default_factory=dict)
    earlier: dict[RequestFields, None] = field(default_factory=dict)


class ObservedClients:
    """
    Args:
        publish: takes a record's key and value; whether there was room for it.
        count: adds one to ``settings_unread`` or ``observed_held``, with a reason.
        has_rack: whether the broker behind this gateway has a rack: a consumer's record then says if the consumer has none (AN215).
        wall_ms: the time, in ms since the epoch.

    Attributes:
        quota: of records.
    """

    def __init__(
        self,
        registry: ConnectionRegistry,
        quota: PushQuota,
        publish: Callable[[str, bytes], bool],
        count: Callable[[str, str], None],
        has_rack: Callable[[], bool] = lambda: False,
        wall_ms: Callable[[], int] = now_ms,
    ) -> None:
        self.quota = quota
        self._has_rack = has_rack
        self._registry = registry
        self._wall_ms = wall_ms
        self._shared: Shared[RequestFields] = Shared(MOST_HELD)
        self._publish = publish
        self._count = count
        self._shown: dict[int, tuple[Client, tuple[RequestFields, ...]]] = {}
        self._clients: dict[Client, _Shown] = {}
        self._kept: Present[Tenant] = Present()
        self._total = 0
        self._due: dict[Client, float] = {}
        self._recorded: Recent[tuple[Client, ClientType], tuple[int, float]] = Recent(_MOST_REMEMBERED)

    def showed(self, connection_id: int, request: RequestFields, now_s: float) -> None:
        """A request has shown something on a connection."""
        connection = self._registry.connections.get(connection_id)
        if connection is None or dict(request.fields).get("replicaId", "-1") != "-1":  # a broker fetches as a replica
            return
        names, requests = self._shown.get(connection_id) or (self._names(connection), ())
        if request not in requests and self._add(names, connection_id, request := self._shared.same(request)):
            self._shown[connection_id] = names, (*requests, request)
            due_s = now_s + (UNSHOWN_S if request == _NAMES else SETTLE_S)
            self._due[names] = min(due_s, self._due.get(names, due_s))

    def has_shown(self, connection_id: int, api_key: int) -> bool:
        """Whether a request of this kind has shown something on a connection."""
        return any(request.api_key == api_key for request in self._shown.get(connection_id, ((), ()))[1])

    def identified(self, connection_id: int, now_s: float) -> None:
        """A connection's client has another name now."""
        known, connection = self._shown.get(connection_id), self._registry.connections.get(connection_id)
        if known is not None and connection is not None and known[0] != (names := self._names(connection)):
            self._leave(connection_id)
            if kept := tuple(request for request in known[1] if request != _NAMES and self._add(names, connection_id, request)):
                self._shown[connection_id] = names, kept
                self._due.setdefault(names, now_s + SETTLE_S)
        if self._registry.leaks(connection_id):
            self.showed(connection_id, _NAMES, now_s)

    def closed(self, connection_id: int, now_s: float) -> None:
        """A connection ends; it is still in the registry. A client that leaves before it was recorded is recorded now."""
        known = self._shown.get(connection_id)
        if known is None:
            return
        names, client = known[0], self._clients[known[0]]
        if len(client.connections) == 1 and self._due.pop(names, None) is not None:
            self._record(names, client, now_s)
        self._leave(connection_id)

    def record(self, now_s: float) -> bool:
        """Records some of what is due; to be called about once a second, and again while it returns that there is more."""
        due = [names for names, at_s in self._due.items() if at_s <= now_s]
        for names in due[:_A_TURN]:
            client = self._clients[names]
            wait_s = self._record(names, client, now_s)
            del self._due[names]
            if wait_s:
                self._due[names] = now_s + wait_s  # behind the others
                if self.quota.refused_by == "quota_all":
                    return False
        return len(due) > _A_TURN

    def _add(self, names: Client, connection_id: int, request: RequestFields) -> bool:
        client = self._clients.get(names)
        if client is None or request not in client.requests:
            tenant = _tenant(names)
            if self._kept[tenant] >= MOST_OF_TENANT or self._total >= MOST_KEPT:
                self._count("settings_unread", "most_kept")
                return False
            self._kept[tenant] += 1
            self._total += 1
            client = self._clients.setdefault(names, _Shown())
        client.requests[request] += 1
        client.connections[connection_id] = None
        client.earlier.pop(request, None)
        return True

    def _leave(self, connection_id: int) -> None:
        names, requests = self._shown.pop(connection_id)
        client = self._clients[names]
        client.connections.pop(connection_id, None)
        for request in requests:
            client.requests.leave(request)
            if request not in client.requests:
                client.earlier[request] = None
                self._kept.leave(_tenant(names))
                self._total -= 1
        while len(client.earlier) > _MOST_EARLIER:
            del client.earlier[next(iter(client.earlier))]
            self._count("settings_unread", "most_earlier")
        if not client.connections:
            del self._clients[names]
            self._due.pop(names, None)

    def _record(self, names: Client, client: _Shown, now_s: float) -> float:
        """Records a client as far as there is something new; returns after how many seconds to try again, or 0."""
        wait_s = 0.0
        found = _settings(client, names.software_name)
        if (consumer := found.get(ClientType.CONSUMER)) and self._has_rack() and any(_NO_RACK in each.fields for each in client.requests):
            found[ClientType.CONSUMER] = {"client.rack": "", **consumer}
        leaks = self._registry.leaks(next(reversed(client.connections)))
        for client_type, settings in (found or ({ClientType.ADMIN: {}} if leaks else {})).items():
            content = hash((frozenset(settings.items()), leaks))
            known, recorded_s = self._recorded.get((names, client_type), (None, 0.0))
            context = self._context(names, client, client_type)
            if context is None or (content == known and now_s - recorded_s < REPEAT_S):
                continue
            if throttle_ms := self.quota.take(context, now_s):
                self._count("observed_held", self.quota.refused_by)
                wait_s = max(wait_s, throttle_ms / 1000)
            elif self._publish(*self._made(context, settings, leaks)):
                self._recorded[names, client_type] = content, now_s
            else:
                wait_s = max(wait_s, SETTLE_S)
        return wait_s

    def _made(self, context: RequestContext, settings: Settings, leaks: tuple[Setting, ...]) -> tuple[str, bytes]:
        named = {**settings, "client.id": context.client_id} if context.client_id else settings
        named = {key: value for key, value in named.items() if all(leak.key != key for leak in leaks)}
        configs = tuple(ClientConfig(key, value, int(TYPES.get(key, Type.STRING)), not value) for key, value in sorted(named.items()))
        names = self._registry.names
        received_ms = self._wall_ms()
        recorded = (*redacted_settings(ClientConfigData(configs, received_ms), names.key), *leaks)
        return context.client_key, encode(config_record(context, received_ms, recorded, names.key, names, Origin.OBSERVED))

    def _context(self, names: Client, client: _Shown, client_type: ClientType) -> RequestContext | None:
        context = self._registry.context(next(reversed(client.connections)))
        if context is None:
            return None
        # Names that are judged: a hash of a secret could be guessed.
        identity = (names.principal or "", names.client_id or "", names.address, names.software_name, client_type.value)
        found = identifier("found client", context.cluster_id, Origin.OBSERVED.name, context.gateway_id, *identity)
        return replace(
            context,
            software_name=names.software_name,
            software_version=names.software_version,
            client_instance_id=uuid.uuid5(_NAMESPACE, found),
        )

    def _names(self, connection: Connection) -> Client:
        """What connections of one client have in common; names are bounded and judged."""
        identity = connection.identity
        software = self._registry.software(connection)
        return Client(
            principal=identity.principal,
            client_id=identity.client_id,
            address=connection.client_address,
            software_name=software[0],
            software_version=software[1],
        )


def _tenant(client: Client) -> Tenant:
    """Whose room it takes."""
    return tenant_of(client.principal, client.address)


def _settings(client: _Shown, software_name: str) -> dict[ClientType, Settings]:
    """What requests show of a client, by what it is; several values of one setting are one text, with `BETWEEN` between them."""
    library = dialect.name if (dialect := dialect_of(software_name)) else None
    types = shown_types({request.api_key for request in (*client.earlier, *client.requests)})
    found: dict[ClientType, dict[str, str]] = {client_type: {} for client_type in types}
    for requests in (*((request,) for request in client.earlier), client.requests):
        values: dict[tuple[ClientType, str], set[str]] = {}
        for request in requests:
            for client_type, key, value in shown_settings(request.api_key, request.api_version, dict(request.fields), library):
                values.setdefault((client_type, key), set()).add(value)
        for (client_type, key), several in values.items():
            if client_type in found:
                found[client_type][key] = _text(several)
    return {client_type: settings for client_type, settings in found.items() if settings}


def _text(values: set[str]) -> str:
    some = sorted(values)[:MOST_VALUES]
    return BETWEEN.join(some if len(some) == len(values) else [*some, "…"])
