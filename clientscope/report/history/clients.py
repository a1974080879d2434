"""Clients that were connected in a range of time, from serve's history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table

from clientscope.api.history import PastClient, PastClients
from clientscope.report.api import Api
from clientscope.report.history.ranges import no_more
from clientscope.report.listing import is_narrow
from clientscope.report.text import counted, plain, time_of

FIELDS = (
    "client_id", "application", "owner", "software_name", "software_version", "principal", "address", "brokers", "first_seen_ms",
    "last_seen_ms", "connections", "open",
)  # fmt: skip
"""Fields of a client, as the API names them."""

MOST = 10_000


def fetch(api: Api, search: str, since: int | None, until: int | None) -> tuple[PastClients, list[str]]:
    """The clients that the search finds, and sentences about those that are left out.

    Raises:
        EnvironmentProblem: no serve answers, it requires a token, or history can't be read now.
        SettingsError: the search is invalid, or serve has no history.
    """
    answer = api.get("history/clients", {"q": search, "from": since, "to": until, "limit": MOST}, PastClients)
    if more := answer.total - len(answer.items):
        return answer, [f"{counted(more, 'more client')}; narrow the search, or ask for a shorter range", *no_more(answer)]
    nothing = f"no client {'matches' if search else 'was connected'}"
    return answer, no_more(answer, "" if answer.items else nothing)


def table(found: Sequence[PastClient], of: PastClients, *, wide: bool = False) -> RenderableType | None:
    """A row for each, below how many there are in the range; what clients chose themselves is shown as it is.

    A narrow terminal has no principals and addresses.
    """
    if not found:
        return None
    view = Table(header_style="bold", box=None, pad_edge=False)
    whose = wide or not is_narrow()
    headings = ["CLIENT.ID", "SOFTWARE", "VERSION", *(["PRINCIPAL", "ADDRESS"] if whose else [])]
    headings += ["OWNER", "BROKERS", "CONNECTIONS", "OPEN", "FIRST SEEN", "LAST SEEN"] if wide else ["CONNECTIONS", "LAST SEEN"]
    for heading in headings:
        folds = heading in ("CLIENT.ID", "SOFTWARE", "PRINCIPAL", "OWNER")
        view.add_column(heading, overflow="fold", no_wrap=not folds, justify="right" if heading in ("CONNECTIONS", "OPEN") else "left")
    for each in found:
        cells = [each.client_id or "–", each.software_name, each.software_version]
        if whose:
            cells += [each.principal or "–", each.address]
        if wide:
            cells += [each.owner or "–", " ".join(map(str, each.brokers)), str(each.connections), str(each.open)]
            cells += [time_of(each.first_seen_ms), time_of(each.last_seen_ms)]
        else:
            cells += [str(each.connections), "at its end" if each.last_seen_ms >= of.to_ms else _minute(each.last_seen_ms)]
        view.add_row(*map(plain, cells))
    clients = f"{of.total:,} clients were connected" if of.total != 1 else "1 client was connected"
    title = plain(f"{clients} from {time_of(of.from_ms)} to {time_of(of.to_ms)}; times are UTC", "dim")
    return Group(title, view)


def _minute(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
