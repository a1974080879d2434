"""Checks of listeners: what each broker advertises, whether that can be used from here, and whether a gateway answers there (api key 1324).

The listener that the settings of the gateway name is for clients: gateways must answer there. A further listener, apart from the one
between brokers and the one that clientscope uses itself, is a way past the gateways.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from cryptography import x509
from kafka.errors import KafkaError

from clientscope.commands.doctor.files import expiry
from clientscope.commands.doctor.result import CLIENT_ID, CheckResult, Situation, not_checked, ok, problem, warning
from clientscope.config import GatewaySettings
from clientscope.config_types import split_address
from clientscope.errors import SettingsError, WireError
from clientscope.kafka.admin import configs
from clientscope.session.ports import BrokerPorts
from clientscope.wire.api_versions import plain_request, read_ranges
from clientscope.wire.codes import PUSH_CONFIG
from clientscope.wire.frames import LENGTH

T = TypeVar("T")

_MOST_BYTES = 256 * 1024


@dataclass(frozen=True)
class Probed:
    """What is known about an address.

    Attributes:
        failure: why it can't be used: its name doesn't resolve, or there is no connection; empty if there is one.
        keys: api keys that it supports; None if it doesn't answer ApiVersions.
        expires: end of its certificate; None without TLS.
    """

    failure: str = ""
    keys: frozenset[int] | None = None
    expires: datetime | None = None

    @property
    def is_gateway(self) -> bool:
        """Whether it accepts PushConfig, as gateways do."""
        return self.keys is not None and PUSH_CONFIG in self.keys


def limited(seconds: float, function: Callable[[], T]) -> T:
    """A function's result, if it comes in time; a thread that is late ends with the process.

    Raises:
        TimeoutError: it is not over.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # raised again below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:.0f} s")
    return results[0]


def probe(host: str, port: int, *, tls: bool, timeout_s: float) -> Probed:
    """Connects, and asks for ApiVersions, which needs no login. Sends nothing else, and trusts no answer."""
    try:
        connection = limited(2 * timeout_s, lambda: socket.create_connection((host, port), timeout_s))
    except (socket.gaierror, UnicodeError):
        return Probed(f"{host} doesn't resolve to an address here")
    except OSError as error:  # a TimeoutError is one
        return Probed(f"no connection ({error.strerror or error})")
    return limited(3 * timeout_s, lambda: _ask(connection, tls))


def _ask(connection: socket.socket, tls: bool) -> Probed:
    expires = None
    try:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # an expired certificate is to be named, and nothing secret is sent
            connection = context.wrap_socket(connection)
            if encoded := connection.getpeercert(binary_form=True):
                expires = x509.load_der_x509_certificate(encoded).not_valid_after_utc
        connection.sendall(plain_request(1, CLIENT_ID))
        with connection.makefile("rb") as answer:
            (length,) = LENGTH.unpack(head := answer.read(LENGTH.size))
            if not 0 <= length <= _MOST_BYTES:
                return Probed(expires=expires)
            return Probed(keys=frozenset(read_ranges(head + answer.read(length), 0)) or None, expires=expires)
    except (OSError, WireError, struct.error):  # ssl.SSLError is an OSError
        return Probed(expires=expires)
    finally:
        connection.close()


_DEFAULT_CLIENTS = "CLIENT"


@dataclass(frozen=True)
class AdvertisedListener:
    """A listener of one broker, as its settings have it.

    Attributes:
        inside: whether brokers use it between themselves.
    """

    broker: int
    name: str
    host: str
    port: int
    protocol: str
    inside: bool


def advertised(broker: int, described: Mapping[str, str | None]) -> list[AdvertisedListener]:
    """The listeners of a broker, from its settings; those that say nothing usable are left out.

    Args:
        described: values by Kafka's own names.
    """
    pairs = (part.strip().partition(":") for part in (described.get("listener.security.protocol.map") or "").split(","))
    protocols = {name: protocol for name, _, protocol in pairs}
    inside = described.get("inter.broker.listener.name") or ""
    found = []
    for part in (described.get("advertised.listeners") or described.get("listeners") or "").split(","):
        name, _, address = part.strip().partition("://")
        try:
            host, port = split_address(address)
        except ValueError:
            continue
        found.append(AdvertisedListener(broker, name, host, port, protocols.get(name, name), name == inside))
    return found


def check_listeners(situation: Situation) -> Iterator[CheckResult]:
    """One result for each listener of each broker, and one for ``--gateway``."""
    addresses: set[tuple[str, int]] = set()
    if situation.admin is None:
        yield not_checked("no broker answers")
    elif situation.gateway is not None and situation.gateway.broker_ports:
        yield from _ports_of_brokers(situation, situation.gateway)
    else:
        clients = situation.gateway.listener_name if situation.gateway else _DEFAULT_CLIENTS
        try:
            described = configs(situation.admin, "broker", [str(each.broker) for each in situation.brokers])
        except KafkaError as error:
            yield not_checked(
                f"brokers don't show their listeners ({type(error).__name__}); the right is DescribeConfigs on the cluster",
                "grant it, or give --gateway HOST:PORT",
            )
        else:
            found = [each for name, settings in described.items() for each in advertised(int(name), settings)]
            own = {(each.host, each.port) for each in situation.brokers}
            for listener in found:
                if listener.name == clients:
                    addresses.add((listener.host, listener.port))
                probed = probe(listener.host, listener.port, tls=listener.protocol.endswith("SSL"), timeout_s=situation.timeout_s)
                yield judge(listener, probed, clients, own=(listener.host, listener.port) in own)
                yield from _certificate(listener, probed)
            if found and not addresses:
                names = ", ".join(sorted({each.name for each in found}))
                yield problem(
                    f"no broker has a listener {clients}; there are {names}", "set [gateway] listener_name to the one for clients"
                )
    if situation.gateway_address:
        yield _gateway(situation, addresses)


def _ports_of_brokers(situation: Situation, settings: GatewaySettings) -> Iterator[CheckResult]:
    """One result for each broker of a cluster that one gateway serves: there brokers advertise their own addresses."""
    try:
        ports = BrokerPorts.of_settings(settings)
    except SettingsError as error:
        yield problem(str(error), error.hint or "")
        return
    for broker in situation.brokers:
        address = ports.of(broker.broker)
        if address is None:
            yield problem(
                f"broker {broker.broker} has no port in broker_ports {settings.broker_ports}, so clients don't see it",
                "raise the last port, or set first_broker_id",
            )
            continue
        probed = probe(*address, tls=settings.ssl_certificate_location is not None, timeout_s=situation.timeout_s)
        name = f"port {address[1]} for broker {broker.broker}"
        if probed.is_gateway:
            yield ok(f"{name}: a gateway answers at {address[0]}")
        elif probed.failure:
            yield problem(f"{name}: {probed.failure}", f"start the gateway, or correct advertised_host {address[0]}")
        else:
            yield problem(f"{name}: something else than a gateway answers at {address[0]}", "correct advertised_host or broker_ports")


def judge(listener: AdvertisedListener, probed: Probed, clients: str, *, own: bool) -> CheckResult:
    """A listener by what was found at its address.

    Args:
        clients: name of the listener for clients.
        own: whether clientscope's own processes use it.
    """
    name = f"{listener.name} of broker {listener.broker} advertises {listener.host}:{listener.port}"
    for_clients = listener.name == clients
    if probed.failure:
        text = f"{name}: {probed.failure}"
        if for_clients:
            remedy = "start the gateway at that address; or correct advertised.listeners, which must be an address that clients reach"
            return problem(text, remedy, f"clientscope gateway --listen {_pasted(listener)}")
        return warning(text, "correct advertised.listeners, or open the port, if clients or clientscope on this machine are to use it")
    if probed.keys is None:
        reason = "no answer to ApiVersions, so it isn't known whether it is a gateway"
        return not_checked(f"{name}: {reason}", "with client certificates, ask from a client's machine")
    if for_clients:
        if probed.is_gateway:
            return ok(f"{name}: a gateway answers")
        remedy = "advertise the gateway's address there, or clients bypass it; docs/install.md has the settings"
        return problem(f"{name}: the broker itself answers, not a gateway", remedy)
    if probed.is_gateway:
        return (
            ok(f"{name}: a gateway answers")
            if not (own or listener.inside)
            else warning(
                f"{name}: a gateway answers, on a listener for brokers or clientscope itself",
                "use a listener of its own, without a gateway",
            )
        )
    if own or listener.inside:
        return ok(f"{name}: the broker itself, for {'clientscope' if own else 'brokers'}")
    remedy = "put a gateway in front of it, or let no client reach its port"
    return warning(f"{name}: the broker itself answers; its clients bypass the gateways", remedy)


def _certificate(listener: AdvertisedListener, probed: Probed) -> Iterator[CheckResult]:
    if probed.expires is not None:
        yield expiry(f"certificate of {listener.name} at {listener.host}:{listener.port}", probed.expires, datetime.now(UTC))


def _gateway(situation: Situation, addresses: set[tuple[str, int]]) -> CheckResult:
    host, port = split_address(situation.gateway_address)
    probed = probe(host, port, tls=False, timeout_s=situation.timeout_s)
    if not probed.failure and probed.keys is None:
        probed = probe(host, port, tls=True, timeout_s=situation.timeout_s)
    name = f"--gateway {situation.gateway_address}"
    if probed.failure:
        return problem(f"{name}: {probed.failure}", "start the gateway, or correct the address")
    if not probed.is_gateway:
        what = "it doesn't answer ApiVersions" if probed.keys is None else "PushConfig is missing (api key 1324), so it is no gateway"
        return problem(f"{name}: {what}", "give the address of --listen; a gateway without a policy, or bypassed, has no PushConfig either")
    if addresses and (host, port) not in addresses:
        return warning(
            f"{name}: a gateway answers, and no broker advertises this address", "clients get the advertised addresses: compare them"
        )
    return ok(f"{name}: a gateway answers")


def _pasted(listener: AdvertisedListener) -> str:
    """An address for a shell; the broker's own text is only shown if it is a plain name."""
    plain = all(character.isalnum() or character in ".-:" for character in listener.host)
    return f"{listener.host}:{listener.port}" if plain else f"HOST:{listener.port}"
