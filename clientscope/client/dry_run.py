"""Output of ``clientscope push --dry-run``: settings that would be pushed, and settings that are held back with the reason."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clientscope.catalog import sensitive
from clientscope.catalog.configs import TYPES
from clientscope.catalog.sensitive_keys import judge_key
from clientscope.client.settings import Collected
from clientscope.records.layouts import ValueState

_WHY = {
    ValueState.KEY_PREFIX: f"names that begin with {', '.join(sensitive.PREFIXES)} are never pushed",
    ValueState.KEY_INFIX: f"names that contain {', '.join(sensitive.INFIXES)} are never pushed",
    ValueState.KEY_SUFFIX: f"names that end in {', '.join(sensitive.SUFFIXES)} are never pushed",
    ValueState.TYPE: "classes and passwords are never pushed",
    ValueState.KEY_WORD: "its name is that of a credential",
    ValueState.PRESENT: "its value looks like a credential",
}


def show(who: str, collected: Collected) -> None:
    """Prints it on stdout: a table, and a line for each key that is held back."""
    console = Console(highlight=False)
    if collected.entries:
        console.print(_plain(f"would be pushed as {who}:"), soft_wrap=True)
        view = Table(header_style="bold", box=None)
        for heading in ("KEY", "VALUE", "TYPE", "SET"):
            view.add_column(heading, overflow="fold", no_wrap=heading in ("KEY", "SET"))
        for entry in collected.entries:
            view.add_row(*map(_plain, (entry.key, entry.value, entry.type.name, "default" if entry.is_default else "by the user")))
        console.print(view)
    else:
        console.print(_plain(f"nothing would be pushed as {who}"), soft_wrap=True)
    for key in collected.sensitive:
        console.print(_plain(f"held back: {key}: {why_held_back(key)}"), soft_wrap=True)


def why_held_back(key: str) -> str:
    """The rule of KIP-1324's, or of ours, that a key which may not be pushed falls under."""
    if key not in TYPES:
        return "no setting of Kafka's clients; one of an application's own may be anything"
    by_key = sensitive.reason(key, "", TYPES[key])
    if by_key is ValueState.PRESENT and judge_key(key).classes:
        return "names of classes are never pushed"
    return _WHY[by_key]


def _plain(text: str) -> Text:
    """What a file says, as it is: never as markup or control characters."""
    return Text("".join(character if character.isprintable() else "�" for character in text))
