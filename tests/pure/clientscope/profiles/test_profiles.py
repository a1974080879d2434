"""Profiles, a user's rules file, suppressions and owners: which profile applies to which client, and errors with line and key."""

from __future__ import annotations

import pickle
import re
from datetime import date
from pathlib import Path

import pytest
from golden import cases, texts
from refusals import refused

from clientscope.errors import SettingsError
from clientscope.model.finding import Owner
from clientscope.profiles import APACHE, BUILT_IN, of_addresses, owners, rules_file
from clientscope.profiles.client_patterns import PatternSubject
from clientscope.profiles.suppressions import suppressing
from clientscope.profiles.thresholds import sources
from udfs.rules.registry import RULES

KNOWN = {"AN101": (), "AN107": ("low", "high"), "AN112": (), "SK001": ()}

GOOD = """\
default = "msk"

[profiles.payments]
base = "strict"
on = ["AN101"]
[profiles.payments.limits.AN107]
low = 90

[profiles.strict]
off = ["AN101", "AN112"]
limits.AN107 = { low = 1, high = 2.5 }

[[assign]]
profile = "payments"
group = ["payments-*", "ledger"]

[[assign]]
profile = "strict"
principal = "User:?"
client_id = "[ab]*"

[[suppress]]
code = "AN112"
client_id = "legacy-*"
reason = "its brokers are too old"
until = 2027-01-31

[[suppress]]
code = "SK001"
path = "test/**"
reason = "made for tests"
until = 2026-01-31
"""


def read(tmp_path: Path, text: str) -> rules_file.RulesFile:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    return rules_file.read(file, KNOWN)


def test_a_profile_is_laid_over_its_base(tmp_path: Path) -> None:
    thresholds = read(tmp_path, GOOD).thresholds
    payments = next(profile for profile in thresholds.profiles if profile.name == "payments")
    assert payments.off == {"AN112"}
    assert payments.on == {"AN101"}
    assert payments.limits == {"AN107": {"low": 90.0, "high": 2.5}}


@pytest.mark.parametrize(("principal", "group", "client_id", "name"), cases(__file__, "choices.txt"))
def test_the_first_assignment_that_fits_decides(tmp_path: Path, principal: str, group: str, client_id: str, name: str) -> None:
    thresholds = pickle.loads(pickle.dumps(read(tmp_path, GOOD).thresholds))  # noqa: S301 - our own, as Spark sends it to its workers
    assert thresholds.profiles[thresholds.choose(principal or None, group or None, client_id or None)].name == name


def test_one_profile_for_everybody(tmp_path: Path) -> None:
    rules = read(tmp_path, GOOD)
    assert [profile.name for profile in rules_file.by_name(rules, "payments").profiles] == ["payments"]
    assert rules_file.by_name(rules_file.RulesFile(), "durable").profiles == (BUILT_IN["durable"],)
    with refused("unknown profile 'paments'") as caught:
        rules_file.by_name(rules, "paments")
    assert caught.value.hint == "known: apache, msk, eventhubs, confluent-cloud, low-latency, durable, strict, payments"


def test_suppressions_match_by_code_client_and_date(tmp_path: Path) -> None:
    legacy, tests = read(tmp_path, GOOD).suppressions
    assert (legacy.until, legacy.reason, legacy.where) == (date(2027, 1, 31), "its brokers are too old", f"{tmp_path}/rules.toml:22")
    client = PatternSubject(client_id="legacy-7", path="test/a/b.properties")
    assert suppressing((legacy, tests), "AN112", client, date(2027, 1, 31)) is legacy
    assert suppressing((legacy, tests), "AN112", client, date(2027, 2, 1)) is None
    assert legacy.expired(date(2027, 2, 1))
    assert suppressing((legacy, tests), "AN101", client, date(2026, 1, 1)) is None
    assert suppressing((legacy, tests), "SK001", client, date(2026, 1, 1)) is tests
    assert suppressing((legacy, tests), "AN112", PatternSubject(), date(2026, 1, 1)) is None


@pytest.mark.parametrize(("message", "text"), texts(__file__, "wrong_rules.txt"))
def test_what_is_wrong_is_said_with_line_and_key(tmp_path: Path, message: str, text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.hint


OWNERS = """\
[[owner]]
team = "payments"
contact = "#payments-oncall"
principal = ["User:payments-*", "User:ledger"]

[[owner]]
team = "web"
contact = "web@example.com"
client_id = "web-*"
"""


def test_the_first_owner_that_fits_decides(tmp_path: Path) -> None:
    file = tmp_path / "owners.toml"
    file.write_text(OWNERS)
    known = owners.read(file)
    assert known.of(PatternSubject(principal="User:ledger", client_id="web-1")) == Owner("payments", "#payments-oncall")
    assert known.of(PatternSubject(principal="User:web", client_id="web-1")) == Owner("web", "web@example.com")
    assert known.of(PatternSubject(principal="User:web")) is None
    assert owners.Owners().of(PatternSubject(principal="User:web")) is None


@pytest.mark.parametrize(("message", "text"), texts(__file__, "wrong_owners.txt"))
def test_a_wrong_owners_file(tmp_path: Path, message: str, text: str) -> None:
    file = tmp_path / "owners.toml"
    file.write_text(text)
    with refused(re.escape(message)):
        owners.read(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with refused("No such file"):
        owners.read(tmp_path / "none.toml")
    with refused("Is a directory"):
        rules_file.read(tmp_path, KNOWN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_profile_gives_a_source_for_each_value(name: str) -> None:
    profile = BUILT_IN[name]
    stated = [f"{kind} {code}" for kind, codes in (("on", profile.on), ("off", profile.off)) for code in codes]
    stated += [f"{code} {limit}" for code, limits in profile.limits.items() for limit in limits]
    found = {} if profile is APACHE else sources(name)
    assert sorted(found) == sorted(stated)
    assert all(len(source) > 10 for source in found.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_profile_names_rules_and_limits_that_there_are_and_changes_them(name: str) -> None:
    profile = BUILT_IN[name]
    assert list(rules_file.unknown(profile, {rule.code: tuple(rule.limits) for rule in RULES})) == []
    for rule in RULES:
        for limit, value in profile.limits.get(rule.code, {}).items():
            assert value != rule.limits[limit], (rule.code, limit)


@pytest.mark.parametrize(("servers", "name"), cases(__file__, "addresses.txt"))
def test_an_address_shows_the_service(servers: str, name: str) -> None:
    profile = of_addresses(servers)
    assert (profile.name if profile else "") == name
