"""clientscope.readiness beside the truth: clients of every age are watched at older brokers, judged, and pointed at newer brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from readiness_clients import CLIENTS, SEEN_ON, TARGETS, Workshop, watched

from clientscope.readiness import ObservedClient, Readiness, judge_readiness

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    yield Workshop(tmp_path_factory.mktemp("readiness-clients"))


Seen = Mapping[str, Mapping[str, ObservedClient]]
"""Release of the broker → client → what it uses of that broker."""


@pytest.fixture(scope="module")
def seen(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Of brokers on which all of them work."""
    found = {}
    for release, configuration in SEEN_ON.items():
        there = watched(workshop, CLIENTS, configuration, release, tmp_path_factory.mktemp("readiness") / release)
        assert {name: printed for name, (_, works, printed) in there.items() if not works} == {}
        found[release] = {name: observed for name, (observed, _, _) in there.items()}
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_a_verdict_is_what_happens(target: str, workshop: Workshop, seen: Seen, tmp_path: Path) -> None:
    found = watched(workshop, CLIENTS, TARGETS[target], target, tmp_path / "target")
    happened = {name: ("works" if works else "fails", printed) for name, (_, works, printed) in found.items()}
    expected = {Readiness.FINE: "works", Readiness.FALLS_BACK: "works", Readiness.BREAKS: "fails"}
    wrong = []
    for release, clients in seen.items():
        for name, client in clients.items():
            readiness = judge_readiness(client, target).readiness
            if expected.get(readiness) != happened[name][0]:
                wrong.append((release, name, readiness, happened[name]))
    assert wrong == []
    assert {"works", "fails"} == {ends for ends, _ in happened.values()}
