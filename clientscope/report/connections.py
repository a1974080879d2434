"""Table of a gateway's connections."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence

from pydantic import ValidationError
from rich.table import Table

from clientscope.api.gateway import GATEWAY_CONNECTIONS, GatewayConnection
from clientscope.clock import now_ms
from clientscope.errors import EnvironmentProblem
from clientscope.query import CONNECTIONS, matches
from clientscope.report import text
from clientscope.report.api import another_form, parsed
from clientscope.report.text import age, counted, plain

FIELDS = (
    "ConnectionId", "ClientId", "ClientName", "ClientVersion", "Inferred", "ClientAddress", "Principal", "ClientInstanceId", "Listener",
    "SecurityProtocol", "OpenedMs",
)  # fmt: skip
"""Fields of a connection, as the gateway's admin address names them."""


def in_order(connections: Iterable[GatewayConnection]) -> list[GatewayConnection]:
    """In the order of software, version, client.id and age."""
    return sorted(connections, key=lambda c: (c.client_name, c.client_version, c.client_id or "", c.opened_ms))


def fetch(admin: str) -> list[GatewayConnection]:
    """What the gateway's admin address lists.

    Raises:
        EnvironmentProblem: no gateway answers there, or in another form.
    """
    try:
        with urllib.request.urlopen(f"http://{admin}/v1/connections", timeout=10) as response:
            return GATEWAY_CONNECTIONS.validate_json(response.read())
    except ValidationError as error:
        raise another_form(f"the gateway at {admin}", error, "the gateway") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise EnvironmentProblem(
            f"no gateway answers at {admin}: {reason}", "run this on the gateway's machine; --admin is its --admin-listen"
        ) from None


def matching(connections: Sequence[GatewayConnection], terms: Sequence[str]) -> list[GatewayConnection]:
    """Those that the terms of a search leave.

    Raises:
        SettingsError: the search is invalid; says where.
    """
    query = parsed(terms, CONNECTIONS, now_ms())
    return [each for each in connections if matches(query, CONNECTIONS, _values(each), _searched(each))]


def _values(connection: GatewayConnection) -> dict[str, object]:
    name, version = connection.inferred or (connection.client_name, connection.client_version)
    return {
        "software": name,
        "version": version,
        "client_id": connection.client_id,
        "principal": connection.principal,
        "address": connection.client_address,
        "listener": connection.listener,
        "protocol": connection.security_protocol,
        "instance": connection.client_instance_id,
        "since": connection.opened_ms,
    }


def _searched(connection: GatewayConnection) -> str:
    """What words are searched for in."""
    texts = (connection.client_id, connection.principal, connection.client_address, connection.client_name, connection.client_version)
    return "\n".join(filter(None, texts)).lower()


def table(connections: Sequence[GatewayConnection], now_s: float, *, wide: bool = False) -> Table:
    """A table of them; what clients chose themselves is shown as it is, never as markup or control characters."""
    listeners = ", ".join(sorted({f"{c.listener} ({c.security_protocol})" for c in connections}))
    title = f"{counted(len(connections), 'connection')}{' on listener ' * bool(listeners)}{listeners}"
    more = ("INSTANCE", "ID") if wide else ()
    # On a narrow terminal a long client.id takes a second line, rather than an address its end.
    headings = ("SOFTWARE", "VERSION", "CLIENT.ID", "ADDRESS", "PRINCIPAL", *more, "OPEN")
    view = text.table(headings, folds=("SOFTWARE", "CLIENT.ID", "PRINCIPAL"), right=("OPEN", "ID"))
    view.title, view.title_justify = plain(title), "left"
    for c in connections:
        name, version = c.inferred or (c.client_name, c.client_version)
        inferred = " (inferred)" if c.inferred else ""
        cells = [name + inferred, version, c.client_id or "–", c.client_address, c.principal or "–"]
        if wide:
            cells += [c.client_instance_id or "–", str(c.connection_id)]
        view.add_row(*map(plain, cells), age(now_s - c.opened_ms / 1000), style="dim" if name == "unknown" else None)
    return view
