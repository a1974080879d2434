"""catalog/releases: the releases that match a broker's answer, and when none may be named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from golden import is_golden
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from clientscope.catalog.releases import METADATA_VERSION, Range, Release, api_key, api_name, infer, near_names, releases
from clientscope.catalog.request_settings import shown_settings


def release(name: str, mode: str = "kraft") -> Release:
    wanted = tuple(map(int, name.split(".")))
    return [entry for entry in releases() if (entry.release, entry.mode) == (wanted, mode)][-1]


def said(name: str, mode: str = "kraft") -> dict[int, Range]:
    """What a broker of a release advertises without telemetry, its controller being of the same release."""
    return {**release(name, mode).fixed, **release(name, mode).forwarded}


def text(ranges: dict[int, Range], finalized: int | None = None, supported: int | None = None) -> str | None:
    features = [{} if level is None else {METADATA_VERSION: level} for level in (finalized, supported)]
    inferred = infer(ranges, *features)
    return str(inferred) if inferred else None


def test_every_release_fits_itself() -> None:
    """By its ranges alone, with and without telemetry; some releases can't be told apart by them."""
    found = ""
    for entry in releases():
        for optional in ({}, entry.optional):
            inferred = infer({**entry.fixed, **entry.forwarded, **optional})
            assert inferred is not None
            first, last = (tuple(map(int, each.split("."))) for each in (inferred.first, inferred.last))
            assert first <= entry.release <= last
        found += f"{entry.release[0]}.{entry.release[1]} {entry.mode}: {inferred}\n"
    assert is_golden(found, __file__, "releases.txt")


@pytest.mark.parametrize("version", [version for version in BROKER_API_VERSIONS if version >= (2, 0)])
def test_kafka_pythons_own_table_says_the_same(version: tuple[int, ...]) -> None:
    """Its table was taken from brokers: ZooKeeper's up to 3.9, then KRaft's, without telemetry."""
    table = {key: tuple(found) for key, found in BROKER_API_VERSIONS[version].items()}
    mode = "zookeeper" if version < (4, 0) else "kraft"
    ours = [{**entry.fixed, **entry.forwarded} for entry in releases() if (entry.release, entry.mode) == (version[:2], mode)]
    assert table in ours


def test_both_patches_of_4_0_fit_it() -> None:
    least = {said_by.fixed[11][0] for said_by in releases() if said_by.release == (4, 0)}
    assert least == {0, 2}, "JoinGroup, KAFKA-19444"
    assert text({**said("4.0"), 11: (2, 9)}) == "4.0"


def test_keys_of_vendors_and_ours_are_looked_over() -> None:
    assert text({**said("4.4"), 1324: (0, 0), 10_000: (0, 3)}) == "4.4"


def test_features_tell_apart_what_ranges_do_not() -> None:
    assert text(said("3.4"), supported=8) == "3.4"
    assert text(said("3.3"), supported=7) == "3.3"
    assert text(said("3.4"), finalized=8) == "3.4", "software isn't older than what the cluster has finalized"
    assert text(said("3.4"), finalized=7) == "3.3–3.4"
    assert text(said("4.4"), finalized=25, supported=33) == "4.4", "an upgrade that isn't finalized yet"
    assert text(said("4.4"), finalized=99) is None
    assert text(said("4.4"), supported=34) is None


def test_what_a_controller_of_another_release_cuts() -> None:
    forwarded = release("4.4").forwarded
    old = release("4.3").forwarded
    cut = {key: (max(least, old[key][0]), min(most, old[key][1])) for key, (least, most) in forwarded.items() if key in old}
    assert text({**release("4.4").fixed, **cut}) == "4.4"
    assert cut != dict(forwarded)


def test_what_no_release_says_has_none() -> None:
    least, most = said("4.4")[19]
    later = ({95: (0, 0)}, {0: (0, 14)}, {19: (least, most + 1)})  # a controller cuts, and never adds
    hidden = {key: found for key, found in said("3.9").items() if key != 69}
    no_kafka = {key: (0, most) for key, (_, most) in said("2.4", "zookeeper").items() if key not in (4, 5, 6, 7)}
    too_little = ({}, {18: (0, 4)}, {0: (0, 13), 1: (4, 18), 18: (0, 5)})
    for ranges in (hidden, no_kafka, *too_little, *({**said("4.4"), **each} for each in later)):
        assert text(ranges) is None


def test_names() -> None:
    assert (api_name(0), api_name(1324), api_name(9999)) == ("Produce", "PushConfig", None)
    assert (api_key("produce"), api_key("18"), api_key("PushConfig"), api_key("Produze"), api_key("²")) == (0, 18, 1324, None, None)
    assert near_names("Produze")[0] == "Produce"
    assert near_names("xyzzy") == []


def test_settings_that_requests_show() -> None:
    """Of each request in the text, by its api key, the client's library and its fields, what stands below it."""
    text = ""
    for line in (Path(__file__).parent / "golden" / "request_settings.txt").read_text().splitlines():
        if line.startswith("    "):
            continue
        text += f"{line}\n"
        if line.startswith("  "):
            key, library, fields = line.split(maxsplit=2)
            found = shown_settings(int(key), 9, ast.literal_eval(fields), None if library == "None" else library)
            shown = {setting.key: setting.value for setting in found}
            text += f"    {shown}\n"
    assert is_golden(text, __file__, "request_settings.txt")
