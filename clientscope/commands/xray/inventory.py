"""Who is connected, by the requests that brokers logged: one entry for each client, with what its requests show of its settings."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from sys import intern

from clientscope.bounded import Recent
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.request_settings import shown_settings, shown_types
from clientscope.commands.lint import credentials
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.incidents import Incidents, Place, is_of_broker
from clientscope.errors import ClientscopeError
from clientscope.logs import files
from clientscope.logs.request_log import LoggedRequest, RequestLogReader, is_of_request
from clientscope.model.client import Client
from clientscope.readiness.verdict import BETWEEN_BROKERS
from clientscope.report import text

MOST_CLIENTS = 20_000
"""Clients that are kept; requests of more are counted in the result."""
MOST_CONNECTIONS = 200_000
"""Connections that are counted."""
MOST_INTRODUCED = 10_000
"""Connections that have only introduced themselves; of more, the oldest count as they are."""
MOST_VERSIONS = 200
"""Pairs of api key and version of one client."""

MOST_NAMELESS = 10_000
"""Connections whose requests have no client.id and are kept apart, since one before or after them may have it (KIP-1313)."""

_INTRODUCTIONS = frozenset({17, 18, 36})
"""SaslHandshake, ApiVersions, SaslAuthenticate: sent before it is known who the client is."""
_OF_BROKERS = BETWEEN_BROKERS | {27, *range(83, 88)}
"""Requests that only brokers and controllers send, with those of transactions and share groups: they need ClusterAction."""
_UNKNOWN = "unknown", "unknown"


@dataclass(slots=True)
class ClientRequests:
    """What one client's requests show.

    Attributes:
        place: of its first request.
        library: the name of its dialect; None where it isn't known.
        versions: (api key, version) → date and time of the latest request of that, as logged; empty for a log without.
        settings: (client type, Kafka's name) → the value and where it was seen. Without contradicted ones.
        contradicted: settings that came with different values, as of two clients that share an identity.
        acts_as_broker: it sent what only brokers send.
    """

    place: Place
    library: str | None = None
    requests: int = 0
    connections: set[tuple[str, str]] = field(default_factory=set)
    versions: dict[tuple[int, int], str] = field(default_factory=dict)
    settings: dict[tuple[ClientType, str], tuple[str, Place]] = field(default_factory=dict)
    contradicted: set[tuple[ClientType, str]] = field(default_factory=set)
    acts_as_broker: bool = False
    _shown: dict[int, Mapping[str, str]] = field(default_factory=dict)

    def add(self, request: LoggedRequest, place: Place) -> None:
        """Takes a request."""
        self.count(request)
        if self._shown.get(request.api_key) == request.fields:
            return  # as most are: the same settings again
        self._shown[request.api_key] = request.fields
        self.acts_as_broker |= request.api_key in _OF_BROKERS or is_of_broker(request) or request.fields.get("replicaId", "-1").isdigit()
        for setting in shown_settings(request.api_key, request.api_version, request.fields, self.library):
            self._set((setting.client_type, setting.key), setting.value, place)

    def agrees(self, other: ClientRequests) -> bool:
        """Whether no setting has one value here and another one there."""
        differs = any(self.settings.get(key, found)[0] != found[0] for key, found in other.settings.items())
        return not differs and self.contradicted == other.contradicted

    def merge(self, other: ClientRequests) -> None:
        """Takes what was seen of it apart."""
        self.connections |= other.connections
        self.acts_as_broker |= other.acts_as_broker
        self.requests += other.requests
        for version, last in other.versions.items():
            self._use(version, last)
        for key, (value, place) in other.settings.items():
            self._set(key, value, place)
        for key in other.contradicted:
            self.settings.pop(key, None)
            self.contradicted.add(key)

    def _set(self, key: tuple[ClientType, str], value: str, place: Place) -> None:
        if key in self.contradicted:
            return
        if (before := self.settings.get(key)) is None:
            self.settings[key] = value, place
        elif before[0] != value:
            del self.settings[key]
            self.contradicted.add(key)

    def count(self, request: LoggedRequest) -> None:
        """Counts a request, whose body says nothing of the client."""
        self.requests += 1
        self._use((request.api_key, request.api_version), request.logged_at)

    def _use(self, version: tuple[int, int], logged_at: str) -> None:
        last = self.versions.get(version)
        if last is None and len(self.versions) >= MOST_VERSIONS:
            return
        if last is None or logged_at > last:  # logs of several brokers or days are read in any order
            self.versions[version] = logged_at

    @property
    def client_types(self) -> tuple[ClientType, ...]:
        """What it is, by the requests that only such a client sends; empty where none came."""
        return shown_types({key for key, _ in self.versions})


@dataclass(slots=True)
class _Introduced:
    """What a connection sent before it was known who the client is.

    Attributes:
        last: the last request, which names it best, with the newest client.id.
        software: name and version by ApiVersions; None before that.
    """

    last: LoggedRequest
    requests: ClientRequests
    software: tuple[str, str] | None = None

    def add(self, request: LoggedRequest) -> None:
        self.last = request._replace(client_id=request.client_id or self.last.client_id)
        if name := request.fields.get("clientSoftwareName"):
            self.software = intern(name), intern(request.fields.get("clientSoftwareVersion", ""))
        self.requests.count(request)


class Inventory:
    """All clients of a run.

    Attributes:
        clients: by key, in the order in which they were first seen.
        incidents: what happened to them.
        credentials: those in its lines, by log.
        left_out: requests of clients beyond `MOST_CLIENTS`.
        uncounted: whether there were more than `MOST_CONNECTIONS`.
    """

    def __init__(self) -> None:
        self.clients: dict[Client, ClientRequests] = {}
        self.incidents = Incidents()
        self.credentials: dict[str, credentials.Search] = {}
        self.left_out = 0
        self.uncounted = False
        self._connections = 0
        self._introduced: OrderedDict[tuple[str, str], _Introduced] = OrderedDict()  # the oldest first
        self._software: Recent[tuple[str, str], tuple[str, str]] = Recent(MOST_CONNECTIONS)
        # The newest, and whether the connection had another.
        self._names: Recent[tuple[str, str, str, str], tuple[str, bool]] = Recent(MOST_CONNECTIONS)
        self._nameless: dict[tuple[tuple[str, str], Client], ClientRequests] = {}

    def add(self, request: LoggedRequest, place: Place) -> None:
        """Takes a request, at its place in a log; a log is of one broker."""
        connection = place.log, request.connection
        if request.api_key in _INTRODUCTIONS:
            self._introduce(request, connection, place)
            return
        introduced = self._introduced.pop(connection, None)
        if introduced and not request.client_id:
            request = request._replace(client_id=introduced.last.client_id)
        if client := self._client(request, connection, place, introduced):
            client.add(request, place)
        else:
            self.left_out += 1

    def end(self) -> None:
        """Counts clients that only introduced themselves, and those without a name, once the logs have ended."""
        while self._introduced:
            self._count_oldest()
        names: dict[tuple[str, str, str], str] = {}  # of all logs: a connection continues in its broker's next one
        for (_, *of), (name, several) in self._names.items():
            owner = of[0], of[1], of[2]
            names[owner] = "" if several or names.get(owner, name) != name else name
        for (connection, key), client in self._nameless.items():
            named = replace(key, client_id=names.get((connection[1], key.principal or "", key.address)) or None)
            if not named.client_id and named in self.clients and not self.clients[named].agrees(client):
                named = replace(named, key="/".join(connection))  # its settings are other than those of the ones like it
            if (known := self.clients.get(named)) is not None:
                known.merge(client)
            elif len(self.clients) < MOST_CLIENTS:
                self.clients[named] = client
            else:
                self.left_out += client.requests
        self._nameless = {}

    def leave_out(self, client_id: str) -> None:
        """Removes what was seen of clients of this client.id."""
        for key in [key for key in self.clients if key.client_id == client_id]:
            del self.clients[key]

    def _introduce(self, request: LoggedRequest, connection: tuple[str, str], place: Place) -> None:
        waiting = self._introduced.get(connection)
        if waiting is None:
            if len(self._introduced) >= MOST_INTRODUCED:
                self._count_oldest()
            waiting = self._introduced[connection] = _Introduced(request, ClientRequests(place))
        waiting.add(request)

    def _count_oldest(self) -> None:
        connection, introduced = self._introduced.popitem(last=False)
        self._client(introduced.last, connection, introduced.requests.place, introduced)

    def _client(
        self, request: LoggedRequest, connection: tuple[str, str], place: Place, introduced: _Introduced | None
    ) -> ClientRequests | None:
        """The client that sent a request, with what introduced it; None for one of too many."""
        name, software = self._name(request, place.log), self._software_of(request, connection, introduced)
        self.incidents.add(request, name, place)
        key = Client(
            principal=request.principal or None,
            client_id=name or None,
            address=request.address,
            software_name=software[0],
            software_version=software[1],
        )
        client = self.clients.get(key) if name else self._nameless.get((connection, key))
        if client is None and not name and len(self._nameless) < MOST_NAMELESS:
            client = self._nameless[connection, key] = ClientRequests(place, _library(key))
        if client is None and (client := self.clients.get(key)) is None:
            if len(self.clients) >= MOST_CLIENTS:
                return None
            client = self.clients[key] = ClientRequests(place, _library(key))
        if connection not in client.connections:
            if self._connections < MOST_CONNECTIONS:
                self._connections += 1
                client.connections.add(connection)
                if introduced:
                    self.incidents.connect(request, name, place)
            else:
                self.uncounted = True
        if introduced:
            client.merge(introduced.requests)
        return client

    def _name(self, request: LoggedRequest, log: str) -> str:
        """The client.id in the line, or the newest that its connection had: after a broker's restart the same id is another connection."""
        of = log, request.connection, request.principal, request.address
        before, several = self._names.get(of, ("", False))
        if request.client_id and request.client_id != before and request.connection:
            self._names[of] = intern(request.client_id), several or before != ""
        return request.client_id or before

    def _software_of(self, request: LoggedRequest, connection: tuple[str, str], introduced: _Introduced | None) -> tuple[str, str]:
        """The software in the line; before Kafka 2.5, which logs none, that of the connection's ApiVersions."""
        if introduced and introduced.software:
            if not request.software_name:
                self._software[connection] = introduced.software
            return introduced.software
        if request.software_name:
            return request.software_name, request.software_version
        return self._software.get(connection, _UNKNOWN)


def _library(key: Client) -> str | None:
    found = dialect_of(key.software_name)
    return found.name if found else None


class LogReader(RequestLogReader):
    """A reader of a log, whose requests go to the inventory, and whose lines are searched for credentials.

    Attributes:
        size: bytes so far, about: of characters outside ASCII each counts as one.
    """

    def __init__(self, inventory: Inventory, log: str) -> None:
        super().__init__()
        self._search = inventory.credentials.setdefault(log, credentials.Search())
        self._inventory, self._log = inventory, log
        self.size = 0

    def take(self, line: str) -> None:
        """Takes a line, without its end."""
        self.size += len(line) + 1
        self._add(self.read((line,)))
        search = self._search.add_of_request if is_of_request(line) else self._search.add
        search(self.lines, line)

    def _add(self, requests: Iterable[LoggedRequest]) -> None:
        for request in requests:
            self._inventory.add(request, Place(self._log, self.lines))

    def ended(self, name: str, stopped: str) -> LogRead:
        """What was read of the log.

        Args:
            name: of the log, for people.
            stopped: why reading ended before the log did.
        """
        self._add(self.end())
        return LogRead(name, self.size, self.requests, self.unreadable, stopped, self.at_info)


@dataclass(frozen=True)
class LogRead:
    """One log, as far as it was read.

    Attributes:
        name: the file, the standard input or the broker.
        size: bytes that were read.
        requests: lines of the request logger that were understood.
        unreadable: lines of it that weren't.
        stopped: why reading ended before the log did; empty if it didn't.
        at_info: whether it has requests of removed versions alone (KAFKA-18272).
    """

    name: str
    size: int
    requests: int
    unreadable: int
    stopped: str
    at_info: bool


def at_info(logs: Iterable[LogRead]) -> bool:
    """Whether these logs have requests, and of removed versions alone."""
    return {log.at_info for log in logs if log.requests} == {True}


NOTHING_CAME = (
    "no request came: are these the logs of the brokers at --bootstrap-servers, with the lines of kafka.request.logger? "
    "in Kafka's own settings it writes to kafka-request.log"
)
NO_REQUEST = (
    "no request in these logs: kafka.request.logger writes them at DEBUG; set it with kafka-configs.sh "
    "--entity-type broker-loggers --entity-name ID --alter --add-config kafka.request.logger=DEBUG, and back after some seconds"
)


@dataclass(frozen=True)
class Look:
    """What was read.

    Attributes:
        errors: of logs that couldn't be read.
        broker_release: the oldest release of the brokers that were asked; None where none was, or where it can't be inferred.
    """

    inventory: Inventory
    logs: list[LogRead] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    broker_release: str | None = None


def read_logs(paths: Sequence[Path | None], max_bytes: int) -> Look:
    """Reads logs to their end, or to the limit for all of them together."""
    look = Look(Inventory())
    left = max_bytes
    with text.progress(paths) as read:
        for path in paths:
            name, stopped = files.shown(path), ""
            log = LogReader(look.inventory, name)
            try:
                for line in files.lines(path, read):
                    if log.size >= left:
                        stopped = f"reading stopped after --max-bytes {max_bytes:,}"
                        break
                    log.take(line)
            except ClientscopeError as error:
                look.errors.append(plain(f"{error}; {error.hint}", 400))
                continue
            left -= log.size
            look.logs.append(log.ended(name, stopped))
    look.inventory.end()
    return look
