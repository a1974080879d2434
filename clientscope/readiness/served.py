"""Which versions of each API brokers of Apache Kafka's releases serve, from 2.0.0 on, patch by patch.

The data is ``served.json``, read from ``ApiKeys`` in Kafka's own jars by ``tools/releases.py``. Served is what a broker parses,
not what it advertises: a broker of 4.0 advertises Produce from 0 and serves it from 3 (KAFKA-18659). Where a release runs with ZooKeeper
and with KRaft, an API counts as served if a broker of either mode serves it; versions that are not stable don't count.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from clientscope.catalog.releases import Range
from clientscope.errors import SettingsError

SERVED = resources.files("clientscope.readiness").joinpath("served.json")

PatchRelease = tuple[int, int, int]
"""Major, minor and patch, such as (4, 0, 1)."""


@dataclass(frozen=True)
class Removal:
    """The release that stopped serving a version of an API.

    Attributes:
        first: the first release without it, such as ``4.0.0``.
        again: the first later release that serves it again, or None: JoinGroup 0 and 1 are back in 4.0.1 (KAFKA-19444).
    """

    first: str
    again: str | None = None


@cache
def known_releases() -> tuple[str, ...]:
    """Every release of the data, oldest first."""
    return tuple(_text(release) for release in _served())


def target_release(text: str) -> str:
    """The release that somebody means: ``4.0.0`` is itself, ``4.0`` its newest patch, ``4`` the newest of its releases.

    Raises:
        SettingsError: no release of the data.
    """
    if re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,2}", text):
        wanted = tuple(map(int, text.split(".")))
        fitting = [release for release in _served() if release[: len(wanted)] == wanted]
        if fitting:
            return _text(fitting[-1])
    raise SettingsError(f"unknown release of Kafka: {text[:40]!r}", f"known are {known_releases()[0]} to {known_releases()[-1]}")


def nearest_release(text: str) -> str | None:
    """The release that a broker's software counts as; None where nothing is known of it.

    Of ``3.9`` or ``3.9–4.0``, as they are inferred, it is the first patch of the first. One with a later patch counts as the last patch
    that is known. What is older or newer than the data isn't known.
    """
    found = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", text)
    if found is None:
        return None
    wanted = (int(found[1]), int(found[2]), int(found[3] or 0))
    releases = tuple(_served())
    place = bisect_right(releases, wanted)
    return _text(releases[place - 1]) if place and releases[place - 1][:2] == wanted[:2] else None


def served(release: str) -> Mapping[int, Range]:
    """Api key → lowest and highest version that a broker of this release serves.

    Raises:
        KeyError: no release of the data.
    """
    return _served()[_numbers(release)]


def serves(release: str, api_key: int, api_version: int) -> bool:
    """Whether a broker of this release serves this version.

    Raises:
        KeyError: no release of the data.
    """
    return within(api_version, served(release).get(api_key))


def known_versions() -> frozenset[tuple[int, int]]:
    """Every (api_key, api_version) that any release of the data serves."""
    return frozenset(
        (key, version) for ranges in _served().values() for key, (least, most) in ranges.items() for version in range(least, most + 1)
    )


def removed_in(api_key: int, api_version: int, target: str | None = None) -> Removal | None:
    """Which release stops serving a version that an earlier one serves; None where none does.

    Args:
        target: the release that is asked about: None is also the answer if that one serves it, be it before the removal or again. Without
            it, the first removal in all releases.

    Raises:
        KeyError: the target is no release of the data.
    """
    if target is not None and serves(target, api_key, api_version):
        return None
    until = None if target is None else _numbers(target)
    before, removal = False, None
    for release, ranges in _served().items():
        now = within(api_version, ranges.get(api_key))
        if removal is None:
            if until is not None and release > until:
                break
            if before and not now:
                removal = _text(release)
            before = now
        elif now:
            return Removal(removal, _text(release))
    return None if removal is None else Removal(removal)


def added_in(api_key: int, api_version: int) -> str | None:
    """The first release of the data that serves a version: ``2.0.0`` may be later than the true one. None for one that none serves."""
    return next((_text(release) for release, ranges in _served().items() if within(api_version, ranges.get(api_key))), None)


def within(api_version: int, versions: Range | None) -> bool:
    """Whether a version is in a range; in None, an API that isn't there, is none."""
    return versions is not None and versions[0] <= api_version <= versions[1]


@cache
def _served() -> Mapping[PatchRelease, Mapping[int, Range]]:
    found: dict[PatchRelease, Mapping[int, Range]] = {}
    for entry in json.loads(SERVED.read_text())["releases"]:
        ranges = {int(key): (least, most) for key, (least, most) in entry["served"].items()}
        found.update({_numbers(release): ranges for release in entry["releases"]})
    return dict(sorted(found.items()))


def _numbers(release: str) -> PatchRelease:
    try:
        major, minor, patch = map(int, release.split("."))
    except ValueError:
        raise KeyError(release) from None
    return (major, minor, patch)


def _text(release: PatchRelease) -> str:
    return ".".join(map(str, release))
