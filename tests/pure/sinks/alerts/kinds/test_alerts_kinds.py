"""Kinds of receivers: what all of them share.  What one sends has tests of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from alert_receivers import message, receiver

from sinks.alerts import kinds
from sinks.alerts.book import DeliveryBook
from sinks.alerts.kinds import KINDS, by_name
from sinks.alerts.message import Texts
from sinks.alerts.receiver_tables import MessageTable, ReceiverTable
from sinks.alerts.receivers import ReceiverKind, Receivers

ONLY_A_HOST = ("http://127.0.0.1:9/x",)
"""Where nothing listens."""


def test_every_file_is_registered() -> None:
    files = {path.stem for path in Path(kinds.__file__).parent.glob("*.py")} - {"__init__"}
    assert {kind.name for kind in KINDS} == files


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind_is_delivered_to_in_one_way_and_its_keys_are_that_ways(kind: ReceiverKind[ReceiverTable]) -> None:
    assert issubclass(kind.table, MessageTable) is (kind.sender is not None)
    assert "silences of its own" in kind.own_silences[0] if kind.own_silences else kind.follow is None
    assert kind.how.startswith("**") and kind.how.endswith(".")
    assert kind.name in DeliveryBook(Receivers((receiver(kind.name, kind=kind.name),))).held or kind.follow is not None


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.sender], ids=str)
def test_a_receiver_that_refuses_connections_is_a_failure_and_never_an_exception(kind: ReceiverKind[ReceiverTable]) -> None:
    made = receiver("one", kind=kind.name, urls=ONLY_A_HOST, timeout_s=1.0)
    assert kind.sender is not None
    assert kind.sender(made, Texts())(message(name="one")).outcome == "failed"
    assert kind.test(made, ONLY_A_HOST[0]).outcome == "failed"


def test_two_of_one_name_and_one_without_a_way_are_refused() -> None:
    with pytest.raises(ValueError, match="two kinds of receivers have the same name"):
        by_name((KINDS[0], KINDS[0]))
    with pytest.raises(ValueError, match="needs either a sender or follow"):
        by_name((replace(KINDS[0], follow=None),))
