"""Members of groups, and the client.ids that gateways have recorded."""

from __future__ import annotations

from clientscope.commands.doctor.bypassing import judge
from clientscope.commands.doctor.result import Outcome
from clientscope.kafka.groups import DescribedGroup, DescribedMember


def group(name: str, *clients: str) -> DescribedGroup:
    return DescribedGroup(name, "classic", "Stable", "range", tuple(DescribedMember(client, "10.0.0.1", "") for client in clients))


def test_judged() -> None:
    undescribed = DescribedGroup("g", "classic", "", "", None)
    assert judge([undescribed, group("own", "clientscope-deliver")], set(), complete=True).outcome is Outcome.NOT_CHECKED
    assert judge([group("g", "a", "b")], {"a", "b"}, complete=True).outcome is Outcome.OK
    found = judge([group("g", "a", "b"), group("h", *(f"c{number}" for number in range(9)))], {"a"}, complete=True)
    assert found.outcome is Outcome.WARNING
    assert found.text.startswith("10 group members were recorded by no gateway: 'b' of group 'g', ") and ", and 5 more; " in found.text
    assert judge([group("g", "b")], {"a"}, complete=False).outcome is Outcome.NOT_CHECKED


def test_names_are_bounded_and_secrets_hidden() -> None:
    found = judge([group("x" * 5_000, "sasl.password=hunter2-Xy\x1b[31m")], set(), complete=True)
    assert "hunter2" not in found.text and "\x1b" not in found.text and len(found.text) < 500
