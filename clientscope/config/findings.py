"""Settings of ``clientscope findings``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from clientscope.config.base import KafkaSettings, ListingSettings


def _filter(description: str, metavar: str = "PATTERN") -> Any:
    """Only ever given with the command: one that stood in a file would hide findings from everybody, silently."""
    return Field("", description=description, json_schema_extra={"metavar": metavar, "flag_only": True})


_ONCE: dict[str, Any] = {"flag_only": True}
_BY = "who decides; empty is the user of this machine"
_WHY = "a sentence for who reads it later; never a secret"
_PREFIXES = "first digits of findings' fingerprints, at least 6"


class FindingsListSettings(ListingSettings, KafkaSettings):
    """Lists what is wrong, what to fix first first: the findings that are open, and leaks that stopped but must still be rotated."""

    section = "findings"
    subcommand = "list"
    state: str = _filter("only these, by commas: open, stopped, resolved, closed; default is open,stopped", "STATES")
    severity: Literal["", "info", "low", "medium", "high", "critical"] = Field(
        "", description="only those of this severity or worse", json_schema_extra=_ONCE
    )
    code: str = _filter("only of this rule, or a pattern: 'SK*'")
    principal: str = _filter("only of this principal, or a pattern: 'User:*'")
    client_id: str = _filter("only of this client.id, or a pattern: 'orders-*'")
    every: bool = Field(
        False, description="in every state, and those that a suppression hides", json_schema_extra={"flag": "all", "flag_only": True}
    )


class FindingsShowSettings(KafkaSettings):
    """Shows all that is known of one finding."""

    section = "findings"
    subcommand = "show"
    fingerprint: str = Field(description="first digits of its fingerprint, at least 6", json_schema_extra={"positional": True})
    output: Literal["text", "json"] = Field("text", description="how it is told", json_schema_extra={**_ONCE, "short": "o"})


class FindingsCloseSettings(KafkaSettings):
    """Closes findings by a person's decision: who, when and why stand in clientscope.decisions, which the streaming job applies."""

    section = "findings"
    subcommand = "close"
    fingerprints: tuple[str, ...] = Field(
        description=_PREFIXES, json_schema_extra={"positional": True, "several": True, "metavar": "FINGERPRINT"}
    )
    resolution: Literal["", "rotated", "test-value", "not-a-secret", "accepted"] = Field(
        "",
        description="rotated: the secret is another now, and pushing it again reopens the finding;\n"
        "test-value, not-a-secret: it stays closed; these three are for leaks;\n"
        "accepted: the risk is known and taken, --until a date",
        json_schema_extra={**_ONCE, "flag": "as"},
    )
    why: str = Field("", description=_WHY, json_schema_extra=_ONCE)
    until: str = Field(
        "", description="last day, in UTC, on which accepted counts, as in 2026-12-31", json_schema_extra={**_ONCE, "metavar": "DATE"}
    )
    by: str = Field("", description=_BY, json_schema_extra=_ONCE)


class FindingsReopenSettings(KafkaSettings):
    """Takes decisions back, so that the findings are open again, or whatever they are without a decision."""

    section = "findings"
    subcommand = "reopen"
    fingerprints: tuple[str, ...] = Field(
        description=_PREFIXES, json_schema_extra={"positional": True, "several": True, "metavar": "FINGERPRINT"}
    )
    why: str = Field("", description=_WHY, json_schema_extra=_ONCE)
    by: str = Field("", description=_BY, json_schema_extra=_ONCE)
