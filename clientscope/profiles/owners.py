"""Reader of ``owners.toml``: the team and the contact of each client.

```toml
[[owner]]
team = "payments"
contact = "#payments-oncall"
principal = ["User:payments-*", "User:ledger"]

[[owner]]
team = "web"
contact = "web@example.com"
client_id = "web-*"
group = "web-*"
```

The first entry that fits decides.  Patterns are those of `clientscope.profiles.client_patterns`: if an entry has several keys, each
must fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.model.fields import clean
from clientscope.model.finding import Owner
from clientscope.profiles.client_patterns import ClientPattern, FilePattern, PatternSubject
from clientscope.profiles.toml_tables import TomlFile

_HINT = "docs/lint.md describes owners.toml"


@dataclass(frozen=True)
class Owners:
    """The owners of clients; without entries, no client has one."""

    entries: tuple[tuple[ClientPattern, Owner], ...] = ()

    def of(self, client: PatternSubject) -> Owner | None:
        """The owner of a client; None if none is named."""
        return next((owner for pattern, owner in self.entries if pattern.fits(client)), None)

    def team_of(self, principal: str | None, client_id: str | None) -> str | None:
        """The team of a client of which no more is known, as of one that is only connected; None if none is named."""
        found = self.of(PatternSubject(principal=principal, client_id=client_id))
        return None if found is None else found.team


NO_OWNERS = Owners()


_Text = Annotated[str, Field(min_length=1), AfterValidator(clean)]


class _Entry(FilePattern):
    team: _Text
    contact: _Text


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    owner: tuple[_Entry, ...] = ()


def read(path: Path) -> Owners:
    """The owners that a file names.

    Raises:
        SettingsError: it can't be read, or something in it is wrong; says the line and the key.
    """
    file = TomlFile(path, _HINT)
    entries = []
    for index, entry in enumerate(file.model(_File).owner):
        entry.require_some(file, ("owner", index), "give it principal, client_id, group or path")
        entries.append((entry, Owner(entry.team, entry.contact)))
    return Owners(tuple(entries))


def read_if_given(path: Path | None) -> Owners:
    """The same; without a file, no client has an owner."""
    return read(path) if path else NO_OWNERS
