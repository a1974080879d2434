"""Fingerprint of what verdicts follow from beside the pushes: with another one, verdicts that are there no longer count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain

from clientscope.digest import DigestKey, identifier
from clientscope.profiles import Thresholds

JUDGING = ("clientscope", "udfs")
"""The packages of the rules, and of what they know. Whatever else is in them costs a needless judging after an upgrade, and no more."""


def fingerprint(thresholds: Thresholds, digest_key: DigestKey | None) -> str:
    """Of the code and data that judge, the user's limits, and the key of digests."""
    limits = json.dumps(asdict(thresholds), default=sorted, sort_keys=True)  # what is neither text, number nor list there is a set
    sources = chain.from_iterable(_sources(files(package)) for package in JUDGING)
    return identifier("verdicts", limits, digest_key.key_id if digest_key else "", *sources)


def _sources(folder: Traversable) -> Iterator[str]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _sources(each)
        elif each.name.endswith((".py", ".toml", ".json")):
            yield each.read_text("utf-8")
