"""The rules about what a client's library takes, against the libraries themselves: thousands of configurations, with mistakes and without.

What the rules say refuses to start does, what refuses is found, and what the rules call unknown the library warns about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

import pytest
from started_clients import Configuration, Start, configurations, started_in_java, started_in_librdkafka

from clientscope.catalog.dialects import dialect
from clientscope.catalog.settings import libraries, numbers
from clientscope.commands.lint.judging import FileVerdict, Subject, judge
from clientscope.profiles import Thresholds

pytestmark = pytest.mark.matrix

WRONG_TYPE = "AN311"
REFUSED = {WRONG_TYPE, "CF102", "CF103", "CF104"}
LISTED = re.compile(
    r"receive\.message\.max\.bytes|enable\.gapless\.guarantee|queue\.buffering\.backpressure\.threshold|queuing\.strategy|`socket\.timeout\.ms`"
)
"""What librdkafka refuses by settings of its own, for which Kafka has no name: the rules look at Kafka's."""
UNKNOWN = {"CF101", "CF106", "CF107", "CF109", "CF110"}
COUNT = 2_000


def verdicts(library: str, version: str, wanted: Sequence[Configuration]) -> list[list[FileVerdict]]:
    subjects = [Subject(each.settings, dialect(library), version, each.client_type) for each in wanted]
    return [[each for each in found if each.outcome == "fired"] for found in judge(subjects, Thresholds())]


def keys(found: Sequence[FileVerdict], codes: set[str]) -> set[str]:
    return {setting.key for verdict in found if verdict.code in codes for setting in verdict.settings}


def compared(library: str, version: str, start: Callable[[Sequence[Configuration]], list[Start]], refusing: set[str]) -> list[str]:
    """The disagreements, and what is counted on the way."""
    wanted = configurations(library, version, COUNT, seed=23)
    started, judged = start(wanted), verdicts(library, version, wanted)
    assert len(started) == len(wanted)
    refused = sum(each.refused is not None for each in started)
    assert COUNT / 10 < refused < COUNT * 0.9, "there is something of both"
    wrong, listed = [], 0
    for each, its, ours in zip(wanted, started, judged, strict=True):
        its_own = own(library, version, each.kind)
        # A wrong type matters to who reads the setting.
        codes = {verdict.code for verdict in ours if verdict.code != WRONG_TYPE or keys([verdict], {WRONG_TYPE}) & its_own}
        if its.refused and LISTED.search(its.refused):
            listed += 1
        elif bool(codes & refusing) != (its.refused is not None):
            wrong.append(f"{each.kind} {each.settings}: {sorted(codes & (REFUSED | UNKNOWN))}, and it {its.refused or 'started'}")
        # Java says of some of its own settings that they aren't used: compression.gzip.level without gzip.
        elif its.refused is None and plain(library, keys(ours, UNKNOWN)) != plain(library, its.ignored) - its_own:
            wrong.append(f"{each.kind} {each.settings}: unknown {sorted(keys(ours, UNKNOWN))}, and ignored {sorted(its.ignored)}")
    assert listed < COUNT / 50, "a list of exceptions, not the rule"
    return wrong


def plain(library: str, names: Iterable[str]) -> set[str]:
    """Without aliases, under which librdkafka has settings too."""
    settings = ((name, libraries()[library].setting(name)) for name in names)
    return {setting.alias if setting and setting.alias else name for name, setting in settings}


@cache
def own(library: str, version: str, kind: str) -> set[str]:
    of_library, release = libraries()[library], numbers(version)
    return {name for name in of_library.names if (found := of_library.setting(name)) and found.now(kind, release)}


@pytest.mark.parametrize(("configuration", "version"), [("client-2.8", "2.8.2"), ("client-3.9", "3.9.2"), ("client-4.4", "4.4.0")])
def test_java(configuration: str, version: str) -> None:
    wrong = compared("java", version, partial(started_in_java, configuration), REFUSED)
    assert wrong == []


def test_librdkafka() -> None:
    wrong = compared("librdkafka", "2.16.0", started_in_librdkafka, REFUSED | (UNKNOWN - {"CF110"}))
    assert wrong == []
