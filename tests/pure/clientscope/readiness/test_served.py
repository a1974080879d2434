"""readiness/served: which release serves what, beside what others say: KIP-896's list, what brokers advertise, kafka-python's table."""

from __future__ import annotations

import pytest
from golden import cases

from clientscope.catalog.releases import releases as advertised_releases
from clientscope.errors import SettingsError
from clientscope.readiness.served import (
    Removal,
    added_in,
    known_releases,
    nearest_release,
    removed_in,
    served,
    serves,
    target_release,
)

KIP_896 = {int(key): int(lowest) for key, lowest in cases(__file__, "kip_896.txt")}
"""Api key → the lowest version that 4.0.0 serves, of docs/specifications.md; all others that a client uses stay from 0."""
GONE_WITH_ZOOKEEPER = {4, 5, 6, 7}


def test_4_0_0_raises_what_kip_896_lists_and_nothing_else() -> None:
    before, after = served("3.9.2"), served("4.0.0")
    raised = {key: after[key][0] for key in before if key in after and after[key][0] != before[key][0]}
    assert raised == KIP_896
    assert len(KIP_896) + len(GONE_WITH_ZOOKEEPER) == 24
    assert {*before} - {*after} == GONE_WITH_ZOOKEEPER | {56, 58, 67}


def test_brokers_from_2_1_on_serve_of_each_api_something_that_4_x_serves() -> None:
    """So a client that negotiates had the choice. WriteTxnMarkers 1, which only Admin.abortTransaction needs, came in 2.8."""
    for release in (release for release in known_releases() if release >= "2.1"):
        offered, wanted = served(release), served("4.0.0")
        without = {key for key in offered if key in wanted and max(wanted[key][0], offered[key][0]) > min(wanted[key][1], offered[key][1])}
        assert without == ({27} if release < "2.8" else set()), release


def test_join_group_is_back_in_4_0_1_and_nothing_else_changes() -> None:
    assert removed_in(11, 1) == removed_in(11, 0, "4.0.0") == Removal("4.0.0", "4.0.1")
    assert removed_in(11, 1, "4.0.1") is removed_in(11, 1, "3.9.2") is removed_in(11, 2) is None
    assert {key for key in served("4.0.1") if served("4.0.1")[key] != served("4.0.0")[key]} == {11}


@pytest.mark.parametrize("release", known_releases())
def test_what_is_served_is_what_some_mode_advertises_but_for_produce(release: str) -> None:
    """The other reading of the same jars (releases.json) had brokers' answers as its oracle."""
    minor = tuple(map(int, release.split(".")))[:2]
    modes = [{**each.fixed, **each.forwarded, **each.optional} for each in advertised_releases() if each.release == minor]
    for key, (least, most) in served(release).items():
        offered = [mode[key] for mode in modes if key in mode]
        if key == 0 and minor >= (4, 0):
            offered = [(3, top) for _, top in offered]
        if offered:  # a controller of its own may have what no broker forwards
            assert (least, most) in offered, key
    assert {key for mode in modes for key in mode} <= set(served(release))


def test_what_no_release_serves_was_not_removed() -> None:
    assert removed_in(0, 99) is removed_in(9999, 0) is None
    assert (added_in(0, 99), added_in(68, 0), added_in(0, 0)) == (None, "3.7.0", "2.0.0")
    assert removed_in(4, 0) == Removal("4.0.0")
    assert serves("3.9.0", 4, 0)
    assert not serves("4.4.0", 4, 0)


@pytest.mark.parametrize(("text", "meant"), [("4.0.0", "4.0.0"), ("4.0", "4.0.2"), ("4", "4.4.0"), ("2.0.1", "2.0.1")])
def test_targets(text: str, meant: str) -> None:
    assert target_release(text) == meant


@pytest.mark.parametrize("text", ["", "4.9", "1.1", "4.0.0.1", "4.", "x" * 1000, "99999.1", "4.0.9"])
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        target_release(text)
    assert len(str(raised.value)) < 100
    with pytest.raises(KeyError):
        served(text)


@pytest.mark.parametrize(("text", "nearest"), cases(__file__, "nearest.txt"))
def test_brokers_releases(text: str, nearest: str) -> None:
    assert nearest_release(text) == (nearest or None)
