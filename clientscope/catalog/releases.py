"""API versions that brokers of each Apache Kafka release advertise, and the releases that match what a broker advertises.

The data is ``releases.json``: an entry for each release and mode (ZooKeeper or KRaft), two where a patch changed a range. It is read from
``ApiKeys`` and ``MetadataVersion`` in Kafka's own jars, first and last patch of each release, by ``tools/releases.py``.

Neighbouring releases may advertise the same, and patch levels can't be distinguished: a range of releases is inferred (KIP-885).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any

from clientscope.wire.codes import PUSH_CONFIG

DATA = resources.files("clientscope.catalog").joinpath("releases.json")

Range = tuple[int, int]
"""Lowest and highest version of an API, both included."""

FIRST_VENDOR_KEY = 1000
"""Kafka numbers its APIs from 0 upward; a key from here on is a vendor's, or ours, and says nothing about the release."""

METADATA_VERSION = "metadata.version"


@dataclass(frozen=True)
class Release:
    """What a broker of a release advertises, in one mode.

    Attributes:
        release: major and minor, such as (3, 7).
        mode: ``zookeeper`` or ``kraft``.
        metadata_version: the newest level for production that the software supports; None before 3.3.
        fixed: exactly these, whatever the cluster is.
        forwarded: KRaft's brokers hand these on, and advertise of them what their controller has too (KIP-590).
        optional: only where something is configured: 71 and 72 with a telemetry reporter (KIP-714).
    """

    release: tuple[int, int]
    mode: str
    metadata_version: int | None
    fixed: Mapping[int, Range]
    forwarded: Mapping[int, Range]
    optional: Mapping[int, Range]

    def fits(self, ranges: Mapping[int, Range], finalized: int | None, supported: int | None) -> bool:
        """Whether a broker of this release can have said this; `infer` says what the arguments are."""
        if supported is not None and supported != self.metadata_version:
            return False
        if finalized is not None and (self.metadata_version is None or finalized > self.metadata_version):
            return False
        if any(ranges.get(key) != wanted for key, wanted in self.fixed.items()):
            return False
        return all(
            _within(found, self.forwarded.get(key) or self.optional.get(key))
            for key, found in ranges.items()
            if key not in self.fixed and key < FIRST_VENDOR_KEY
        )


@dataclass(frozen=True)
class Inferred:
    """The first and the last release that fit, as ``major.minor``; they may be the same."""

    first: str
    last: str

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first}–{self.last}"


def infer(
    ranges: Mapping[int, Range], finalized_features: Mapping[str, int] | None = None, supported_features: Mapping[str, int] | None = None
) -> Inferred | None:
    """The releases of Apache Kafka that fit what a broker says; None where none fits.

    A broker that is no Kafka, hides keys, or is newer than the data fits none: a key in Kafka's own numbers that no release here has is
    not looked over. Keys of vendors are.

    Args:
        ranges: api key → its range, as ApiVersions said.
        finalized_features: the cluster's features and their levels, where known: a broker's software is at least as new.
        supported_features: the highest levels of the broker's own software, where known: they tell releases apart that advertise the same.
    """
    finalized = (finalized_features or {}).get(METADATA_VERSION)
    supported = (supported_features or {}).get(METADATA_VERSION)
    fitting = [entry.release for entry in releases() if entry.fits(ranges, finalized, supported)]
    if not fitting:
        return None
    return Inferred(*(".".join(map(str, release)) for release in (min(fitting), max(fitting))))


def api_name(key: int) -> str | None:
    """An API's name as Kafka has it, such as ``Produce``; None for a key that no release here has."""
    return api_names().get(key)


def api_key(name: str) -> int | None:
    """The API key of a name in any case, or of a number; None if unknown."""
    if name.isascii() and name.isdigit():
        return int(name)
    return {known.lower(): key for key, known in api_names().items()}.get(name.lower())


def near_names(name: str) -> list[str]:
    """API names similar to a text, the nearest first."""
    by_lower = {known.lower(): known for known in api_names().values()}
    return [by_lower[near] for near in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]


@cache
def releases() -> tuple[Release, ...]:
    """Every release and mode, in the order of the releases."""
    return tuple(
        Release(
            release=tuple(map(int, entry["release"].split("."))),  # type: ignore[arg-type]
            mode=entry["mode"],
            metadata_version=entry["metadata_version"],
            fixed=_ranges(entry["fixed"]),
            forwarded=_ranges(entry["forwarded"]),
            optional=_ranges(entry["optional"]),
        )
        for entry in _data()["releases"]
    )


@cache
def api_names() -> Mapping[int, str]:
    """Api key → name, over all releases, PushConfig among them."""
    return {**{int(key): name for key, name in _data()["names"].items()}, PUSH_CONFIG: "PushConfig"}


@cache
def _data() -> Any:
    return json.loads(DATA.read_text())


def _ranges(entry: dict[str, list[int]]) -> dict[int, Range]:
    return {int(key): (least, greatest) for key, (least, greatest) in entry.items()}


def _within(found: Range, wanted: Range | None) -> bool:
    return wanted is not None and wanted[0] <= found[0] <= found[1] <= wanted[1]
