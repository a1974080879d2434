"""Verdicts on the clients that gateways have seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from clientscope.clock import utc
from clientscope.model.client import Client
from clientscope.profiles.client_patterns import PatternSubject
from clientscope.profiles.owners import Owners
from clientscope.readiness.observed import ApiUse, ObservedUses
from clientscope.readiness.rows import JudgedClient
from clientscope.readiness.seen import SeenRequests, uses
from clientscope.readiness.served import nearest_release
from clientscope.readiness.verdict import judge_readiness, last_old_ms


@dataclass(frozen=True)
class UpgradeQuestion:
    """What is asked about clients.

    Attributes:
        target: a release, see `clientscope.readiness.target_release`.
        releases: by cluster, the release of its brokers, of several the oldest; None where it isn't known.
        owners: of clients.
        application_of: client.id without its instance part.
        since_ms: versions that were last used before it are the past; in ms since the epoch.
        at_info: as `ObservedUses` has it.
    """

    target: str
    releases: Mapping[str, str | None]
    owners: Owners
    application_of: Callable[[str], str]
    since_ms: int | None = None
    at_info: bool = False


def judge_seen(seen: Iterable[tuple[Client, SeenRequests]], asked: UpgradeQuestion, now_ms: int) -> list[JudgedClient]:
    """Every client of `SeenClients.clients` with its verdict. Times are texts, UTC."""
    return [
        judged(
            key,
            PatternSubject(key.principal, None, key.client_id),
            asked.application_of(key.client_id or ""),
            uses(client, now_ms),
            client.last_ms,
            asked,
        )
        for key, client in seen
    ]


def oldest_release(versions: Iterable[str]) -> str | None:
    """The release that counts for brokers of these versions, as a gateway reports them; None for none, or if one of them isn't known."""
    found = [nearest_release(version) for version in versions]
    known = [release for release in found if release is not None]
    return min(known, key=lambda release: tuple(map(int, release.split(".")))) if known and len(known) == len(found) else None


def judged(
    client: Client,
    subject: PatternSubject,
    application: str,
    used: Mapping[ApiUse, int],
    last_ms: int,
    asked: UpgradeQuestion,
    text: Callable[[int | None], str] = utc,
) -> JudgedClient:
    """A client with its verdict.

    Args:
        client: as it may be shown; ``subject`` is whom owners know.
        application: empty for none.
        used: when it last used what; ``last_ms`` is its last request.
        text: of a time, for people; None is never.
    """
    since = asked.since_ms
    past = since is not None and last_ms < since
    present = frozenset(use for use, ms in used.items() if past or since is None or ms >= since)
    release = asked.releases.get(client.cluster)
    observed = ObservedUses(present, client.software_name, client.software_version, release, asked.at_info)
    owner = asked.owners.of(subject)
    return JudgedClient(
        client,
        judge_readiness(observed, asked.target),
        application or "without client.id",
        str(owner or ""),
        past,
        text(last_old_ms(used, asked.target)),
        text(last_ms),
    )
