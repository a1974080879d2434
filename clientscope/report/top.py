"""Terminal application of ``clientscope top``: the live overview, with k9s's keys.

A thread follows the page's event stream; once a second the newest overview is drawn, and only cells that differ.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import DataTable, Footer, Input, Static

from clientscope.api.clients import ClientList, ConnectedClient
from clientscope.api.common import Listing
from clientscope.api.findings import FindingList
from clientscope.api.overview import Overview
from clientscope.errors import ClientscopeError
from clientscope.findings.record import Finding
from clientscope.findings.wording import unmarked
from clientscope.report.api import Api
from clientscope.report.clients import findings
from clientscope.report.findings.counting import said
from clientscope.report.findings.table import COLOURS
from clientscope.report.text import age, counted, plain, shares
from clientscope.severities import SEVERITIES

_DRAW_S = 1.0
_RETRY_S = 2.0
_LISTED = 200
"""Rows of clients or findings."""

_SOFTWARE = ("SOFTWARE", "VERSION", "LISTENER", "CONNECTIONS", "SHARE")
_HEALTH = ("PROCESS", "STATE", "BEHIND", "WHY")
_CLIENTS = ("CLIENT.ID", "SOFTWARE", "VERSION", "FINDINGS", "CONNECTIONS", "SINCE", "PRINCIPAL", "ADDRESS")
_FINDINGS = ("SEVERITY", "CODE", "CLIENTS", "SINCE", "FINDING")
_HELP = "j k g G move · Enter whose connections these are · Esc back · / search clients · c clients · f findings · o overview · q quit"

Rows = Sequence[tuple[str, Sequence[Text]]]
"""A row's key, and its cells."""


class Top(App[None]):
    """The screen.

    Attributes:
        overview: the newest; None before the first.
        problem: why there is no newer one.
    """

    CSS = """
    #summary { height: auto; max-height: 5; padding: 0 1; }
    #summary.stale { background: $warning-muted; }
    #lists { height: 1fr; }
    DataTable { width: 1fr; height: 1fr; }
    #health { max-width: 46%; border-left: solid $panel; }
    .-narrow #lists { layout: vertical; }
    .-narrow #health { max-width: 100%; max-height: 40%; border-left: none; border-top: solid $panel; }
    #search { dock: bottom; height: 3; display: none; }
    #search.open { display: block; }
    .hidden { display: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (150, "-wide")]  # noqa: RUF012 - of the instance, as textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "view('overview')", "overview"),
        Binding("c", "view('clients')", "clients"),
        Binding("f", "view('findings')", "findings"),
        Binding("slash", "search", "search", key_display="/"),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("escape", "back", "back", show=False),
        Binding("j", "move('down')", show=False),
        Binding("k", "move('up')", show=False),
        Binding("g", "move('top')", show=False),
        Binding("G", "move('bottom')", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api
        self.overview: Overview | None = None
        self.problem = ""
        self._view, self._q = "overview", ""
        self._drawn: object = None
        self._listed = ""
        self._stopping = threading.Event()

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Static(id="summary")
        with Horizontal(id="lists"):
            yield DataTable(id="main", cursor_type="row", zebra_stripes=True)
            yield DataTable(id="health", cursor_type="none")
        yield Input(placeholder="software:librdkafka version:<2.6 finding:>=high", id="search")
        yield Footer()

    def on_mount(self) -> None:
        """Begins to follow and to draw."""
        self._columns(_SOFTWARE)
        self.query_one("#health", DataTable).add_columns(*_HEALTH)
        self.query_one("#main").focus()
        threading.Thread(target=self._follow, name="events", daemon=True).start()
        self.set_interval(_DRAW_S, self._draw)

    def on_unmount(self) -> None:
        """Ends the thread with the next event."""
        self._stopping.set()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                for overview in self._api.overviews():
                    self.overview, self.problem = overview, ""
                    if self._stopping.is_set():
                        return
            except ClientscopeError as error:
                self.problem = str(error)
            self._stopping.wait(_RETRY_S)

    def _draw(self) -> None:
        summary = self.query_one("#summary", Static)
        summary.update(_summary(self.overview, self.problem, self._listed))
        summary.set_class(bool(self.problem) or self.overview is None or self.overview.feed != "live", "stale")
        if self.overview is None or self._drawn == (self.overview.version, self._view, self._q):
            return
        self._drawn = (self.overview.version, self._view, self._q)
        _put(self.query_one("#health", DataTable), _health(self.overview))
        if self._view == "overview":
            _put(self.query_one("#main", DataTable), _software(self.overview))
        else:
            self._list(self._view, self._q)

    @work(thread=True, exclusive=True)
    def _list(self, view: str, q: str) -> None:
        """Asks for what the view lists, in a thread of its own, so that the screen keeps working."""
        try:
            asked = {"q": q, "limit": _LISTED}
            if view == "clients":
                answer = self._api.get(view, asked, ClientList)
                rows, listed = _clients(answer.items), _listed(answer, "client")
            else:
                found = self._api.get(view, {**asked, "confidence": "high"}, FindingList)
                rows, listed = _findings(found.items), _listed(found, "finding")
        except ClientscopeError as error:
            self.problem = str(error)
            return
        self.call_from_thread(self._put_if, view, q, rows, listed)

    def _put_if(self, view: str, q: str, rows: Rows, listed: str) -> None:
        if (view, q) == (self._view, self._q) and self.query("#summary"):  # it may end meanwhile
            _put(self.query_one("#main", DataTable), rows)
            self._listed = listed
            self._draw()

    def _columns(self, names: Sequence[str]) -> None:
        table = self.query_one("#main", DataTable)
        table.clear(columns=True)
        for name in names:
            table.add_column(name, key=name)
        self.query_one("#health").set_class(names is not _SOFTWARE, "hidden")

    def action_view(self, view: str, q: str = "") -> None:
        """Shows another view."""
        self._view, self._q, self._listed, self._drawn = view, q, "", None
        self._columns({"overview": _SOFTWARE, "clients": _CLIENTS, "findings": _FINDINGS}[view])
        self._draw()

    async def action_back(self) -> None:
        """Closes the search, or goes to the overview."""
        if self.query_one("#search").has_class("open"):
            self._close_search()
        else:
            self.action_view("overview")

    def _close_search(self) -> None:
        self.query_one("#search").remove_class("open")
        self.query_one("#main").focus()

    def action_search(self) -> None:
        """Opens the search."""
        search = self.query_one("#search", Input)
        search.add_class("open")
        search.value = self._q
        search.focus()

    def action_help(self) -> None:
        """Says the keys."""
        self.notify(_HELP, title="keys", timeout=10)

    def action_move(self, where: str) -> None:
        """Moves the cursor."""
        table = self.query_one("#main", DataTable)
        moves = {"down": table.action_cursor_down, "up": table.action_cursor_up}
        moves |= {"top": table.action_scroll_top, "bottom": table.action_scroll_bottom}
        moves[where]()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Searches clients."""
        self._close_search()
        self.action_view("clients", event.value.strip())

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Whose connections these are."""
        key = event.row_key.value or ""
        if self._view == "overview" and "\n" in key:
            name, version, listener = (_quoted(part) for part in key.split("\n"))
            self.action_view("clients", f"software:{name} version:{version} listener:{listener}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _put(table: DataTable[Text], rows: Rows) -> None:
    """Makes a table have these rows: cells that differ are drawn anew, and the cursor stays where it is."""
    wanted = [key for key, _ in rows]
    there = [row.key.value for row in table.ordered_rows]
    if there == wanted:
        columns = list(table.columns)
        for key, cells in rows:
            for column, cell in zip(columns, cells, strict=True):
                if table.get_cell(key, column) != cell:
                    table.update_cell(key, column, cell)
        return
    at = table.cursor_coordinate
    selected = there[at.row] if at.row < len(there) else None
    table.clear()
    for key, cells in rows:
        table.add_row(*cells, key=key)
    if selected in wanted:
        table.move_cursor(row=wanted.index(selected))


def _summary(overview: Overview | None, problem: str, listed: str) -> Text:
    if overview is None:
        return plain(problem or "asking …")
    known = (
        (overview.connections, "connection", "connections"),
        (overview.clients, "client", "clients"),
        (overview.software_versions, "software version", "software versions"),
        (overview.pushes, "push in a day", "pushes in a day"),
        (overview.pushes_per_minute, "in the last minute", "in the last minute"),
    )
    figures = " · ".join(f"– {many}" if value is None else counted(value, one, many) for value, one, many in known)
    first = plain(f"{', '.join(overview.clusters) or 'no cluster yet'}   {figures}", "bold")
    feed = {"live": "live", "catching_up": "still reading its topics", "starting": "starting"}.get(overview.feed, overview.feed_detail)
    found = overview.findings
    first.append("\n")
    second = Text.assemble(plain(f"{problem or feed}   ", "yellow" if problem or overview.feed != "live" else "green"))
    if found is None:
        second.append_text(plain(overview.findings_detail or "findings: –", "dim"))
    else:
        worst = max(found.by_severity, key=SEVERITIES.index, default="")
        second.append_text(plain(said(found.by_severity), COLOURS.get(worst, "")))
        if found.low_confidence:
            second.append_text(plain(f" · {counted(found.low_confidence, 'more')} of low confidence", "dim"))
    if listed:
        second.append_text(plain(f" · listed: {listed}"))
    return first.append_text(second)


def _listed(answer: Listing, noun: str) -> str:
    """How many the list has, and how many of them are shown."""
    total = answer.total or 0
    return counted(total, noun) + (f", the first {_LISTED}" if total > _LISTED else "")


def _software(overview: Overview) -> Rows:
    rows = sorted(overview.software, key=lambda row: (-row.connections, row.software_name, row.software_version))
    largest = max(1, *(row.connections for row in rows), 1)
    listed = []
    *parts, of_others = shares([*(row.connections for row in rows), overview.software_other])
    for row, part in zip(rows, parts, strict=True):
        key = "\n".join((row.software_name, row.software_version, row.listener))
        names = (plain(name) for name in (row.software_name, row.software_version, row.listener))
        bar = "█" * max(1, round(20 * row.connections / largest))
        share = Text.assemble((f"{_share(part, row.connections)} ", ""), (bar, "cyan"))
        listed.append((key, (*names, Text(f"{row.connections:,}", justify="right"), share)))
    if overview.software_other:
        number = Text(f"{overview.software_other:,}", justify="right")
        listed.append(("other", (plain("other", "dim"), Text(), Text(), number, Text(_share(of_others, overview.software_other)))))
    return listed


def _share(part: int, count: int) -> str:
    """Tenths of a per cent."""
    return " <0.1%" if count and not part else f"{part / 10:5.1f}%"


def _health(overview: Overview) -> Rows:
    rows = []
    for each in overview.health:
        state = "stale" if each.stale else each.condition
        colour = {"ok": "green", "starting": "cyan", "stopped": "dim"}.get(state, "yellow")
        behind = "–" if each.lag_records is None else f"{each.lag_records:,}"
        name = f"{each.kind} {each.id}"
        rows.append((name, (plain(name), plain(state, colour), Text(behind, justify="right"), plain(each.reason))))
    return rows


def _clients(items: Sequence[ConnectedClient]) -> Rows:
    now_s = time.time()
    rows = []
    for each in items:
        names = (each.client_id or "–", each.software_name, each.software_version)
        numbers = (str(each.connections), age(now_s - each.since_ms / 1000))
        cells = (*map(plain, names), findings(each.findings), *(Text(text, justify="right") for text in numbers))
        rows.append((each.key, (*cells, plain(each.principal or "–"), plain(each.address))))
    return rows


def _findings(items: Sequence[Finding]) -> Rows:
    now_s = time.time()
    rows = []
    for each in items:
        cells = (plain(each.severity, COLOURS[each.severity]), plain(each.code), Text(str(each.client_count), justify="right"))
        since = Text(age(now_s - each.opened_ms / 1000), justify="right")
        rows.append((each.fingerprint, (*cells, since, plain(unmarked(each.message)))))
    return rows
