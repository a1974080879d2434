"""Settings that one client logged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from clientscope.catalog.configs import ClientType

MAX_SETTINGS = 1_000
"""Settings of one client; Kafka Streams, which has most, logs fewer than 200."""
MAX_VALUE = 4_096
"""Characters of a value; a longer one isn't kept."""

_KEY = re.compile(r"[a-z][a-z0-9._-]{0,99}")


class LoggedSetting(NamedTuple):
    """One setting, as it was logged.

    Attributes:
        value: None for one that is not set.
        line: of the log.
        column: of the value, from 1.
    """

    value: str | None
    line: int
    column: int


@dataclass
class LoggedClient:
    """One start of a client.

    Attributes:
        dialect: name of its library's dialect.
        client_type: None for what isn't a client by itself.
        version: of the library; ``unknown`` where the log doesn't say it.
        line: where its settings begin.
        role: what it is, where it isn't a client by itself: a worker or a connector of Kafka Connect. Its defaults aren't in the catalogue.
        settings: names as written → values. Without those whose value the library hides, and without contradicted ones.
        contradicted: settings that the log has with different values: another process wrote between the lines, or a value has a line end.
        whole: all that was logged is here, so what isn't here has its default.
    """

    dialect: str
    client_type: ClientType | None
    line: int
    version: str = "unknown"
    role: str = ""
    settings: dict[str, LoggedSetting] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)
    whole: bool = False

    def add(self, key: str, setting: LoggedSetting) -> None:
        """Takes a setting; of a contradiction nothing is known."""
        before = self.settings.get(key)
        if key in self.contradicted or len(self.settings) >= MAX_SETTINGS:
            self.contradicted.add(key) if len(self.contradicted) < MAX_SETTINGS else None
        elif before is not None and before.value != setting.value:
            del self.settings[key]
            self.contradicted.add(key)
        else:
            self.settings[key] = setting


def setting_of(line: str) -> tuple[str, str, str, int] | None:
    """The text before a setting, its name, its value, and the value's column; None for a line that isn't ``name = value``."""
    at = line.find(" =")
    if at < 1 or line[at + 2 : at + 3] not in ("", " "):
        return None
    before, key = _last_word(line[:at])
    if not _KEY.fullmatch(key):
        return None
    return before, key, line[at + 3 :], at + 4


def _last_word(text: str) -> tuple[str, str]:
    words = text.replace("#011", "\t").rsplit(maxsplit=1)  # syslog writes a tab as #011
    return ("", words[-1] if words else "") if len(words) < 2 else (words[0], words[1])
