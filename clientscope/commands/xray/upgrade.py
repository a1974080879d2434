"""Upgrade readiness of an inventory's clients: a verdict for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clientscope.commands.lint.shown import client_name, plain
from clientscope.commands.xray.inventory import ClientKey, InventoriedClient, SeenVersion
from clientscope.errors import SettingsError
from clientscope.profiles.client_patterns import PatternSubject
from clientscope.profiles.owners import Owner, Owners
from clientscope.readiness import ApiUse, ObservedClient, judge_readiness, nearest_release
from clientscope.readiness.rows import JudgedClient, logged_ms


@dataclass(frozen=True)
class Upgrade:
    """What is asked about clients.

    Attributes:
        target: a release, see `clientscope.readiness.target_release`.
        broker_release: of the brokers that wrote the logs; None where it isn't known.
        owners: of clients.
        since_ms: requests before it are the past, by `logged_ms`.
    """

    target: str
    broker_release: str | None
    owners: Owners
    since_ms: int | None = None


def seen_on(text: str) -> str | None:
    """The release that ``--broker-release`` means; None if it isn't given.

    Raises:
        SettingsError: no release that is known.
    """
    release = nearest_release(text) if text else None
    if text and release is None:
        raise SettingsError(f"--broker-release: unknown release of Kafka: {text[:40]!r}", "give the brokers' release, such as 3.9 or 3.9.2")
    return release


def judged(clients: Mapping[ClientKey, InventoriedClient], of: Mapping[ClientKey, str], asked: Upgrade) -> list[JudgedClient]:
    """Every client with its verdict.

    Args:
        of: the clients' applications.
    """
    return [_judge(key, client, of[key], asked) for key, client in clients.items()]


def application_shown(application: str) -> str:
    """An application's name, without a secret and without control characters."""
    return client_name(application) if application else "without client.id"


def principal_shown(principal: str) -> str:
    """A principal, the same way."""
    return client_name(principal, "principal")


def software_shown(key: ClientKey) -> str:
    """Name and version of a client's software."""
    if key.software_name == "unknown":
        return "unknown software"
    return (
        f"{client_name(key.software_name, 'client_software_name')} {client_name(key.software_version, 'client_software_version')}".rstrip()
    )


def owner_shown(owner: Owner | None) -> str:
    """An owner's team and contact; empty for none."""
    return f"{plain(owner.team)} ({plain(owner.contact)})" if owner else ""


def _judge(key: ClientKey, client: InventoriedClient, application: str, asked: Upgrade) -> JudgedClient:
    logged = {seen.last: logged_ms(seen.last) for seen in client.versions.values()}
    since = asked.since_ms
    past = since is not None and all(ms is not None and ms < since for ms in logged.values())
    # What was logged without a time may be of now.
    at = {text: (since or 0) if ms is None else ms for text, ms in logged.items()}
    uses = tuple(_use(api_key, version, seen, at[seen.last]) for (api_key, version), seen in client.versions.items())
    observed = ObservedClient(uses, key.software_name, key.software_version, asked.broker_release)
    verdict = judge_readiness(observed, asked.target, None if past else since)
    last_old = next((text for text, ms in at.items() if ms == verdict.last_old_ms), "")
    owner = asked.owners.of(_subject(key, client))
    return JudgedClient(
        verdict,
        application_shown(application),
        principal_shown(key.principal),
        software_shown(key),
        owner_shown(owner),
        past,
        last_old,
        max(logged, default=""),
    )


def _use(api_key: int, version: int, seen: SeenVersion, last_ms: int) -> ApiUse:
    first_ms = logged_ms(seen.first)
    return ApiUse(api_key, version, seen.count, last_ms if first_ms is None else first_ms, last_ms)


def _subject(key: ClientKey, client: InventoriedClient) -> PatternSubject:
    group = next((value for (_, name), (value, _) in client.settings.items() if name == "group.id"), None)
    return PatternSubject(key.principal or None, group, key.client_id or None)
