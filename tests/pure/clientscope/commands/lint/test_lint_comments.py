"""Comments in settings files that ignore findings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from command_runs import Document

from clientscope.commands.lint.comments import MOST, Ignored, read

PRODUCER = ("--client-type", "producer")


@pytest.fixture
def codes(lint: Document) -> Callable[[str], set[str]]:
    return lambda text: {each["code"] for each in lint("a.properties", text, *PRODUCER)["findings"]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.properties", "client.id=orders\n# clientscope: ignore[CF103, AN101] a test of errors\n\n# another\nacks=2\n"),
        ("a.properties", "client.id=orders\n! clientscope: ignore[CF103] a test of errors\nacks = 2\n"),
        ("a.yaml", "client.id: orders\nacks: 2  # clientscope: ignore[CF103] a test of errors\n"),
        ("a.yml", "client.id: orders\n# clientscope: ignore[CF103] a test of errors\nacks: 2\n"),
    ],
)
def test_a_comment_ignores_a_finding_of_its_setting(name: str, text: str, lint: Document) -> None:
    found = lint(name, text, *PRODUCER)
    assert "CF103" not in {each["code"] for each in found["findings"]}
    (suppressed,) = found["files"][0]["suppressed"]
    assert (suppressed["code"], suppressed["reason"]) == ("CF103", "a test of errors")


def test_a_finding_without_a_place_is_ignored_from_anywhere(codes: Callable[[str], set[str]]) -> None:
    assert "AN306" not in codes("# clientscope: ignore[AN306] it is named elsewhere\nacks=all\n")


@pytest.mark.parametrize(
    "text",
    [
        "# clientscope: ignore[CF103]\nacks=2\n",
        "# clientscope: ignore[everything] a reason\nacks=2\n",
        "# clientscope: ignore[CF101] another rule\nacks=2\n",
        "# ignore[CF103] not ours\nacks=2\n",
        "# clientscope: ignore[CF103] this one\nacks=2\ncompression.type=zst\n",
    ],
)
def test_other_comments_and_those_of_other_settings_ignore_nothing(text: str, codes: Callable[[str], set[str]]) -> None:
    assert "CF103" in codes(text)


def test_a_secret_is_not_ignored_so(lint: Document) -> None:
    jaas = 'sasl.jaas.config=org.example.Module required password="canary-1";'
    found = lint("a.properties", f"acks=all\n# clientscope: ignore[SK001] a test's\n{jaas}\n", *PRODUCER)
    assert "SK001" in {each["code"] for each in found["findings"]}
    assert any("only the rules file" in note["text"] for note in found["files"][0]["notes"])


def test_comments_are_bounded_and_a_value_of_a_properties_file_is_none() -> None:
    ignored, notes = read(b"# clientscope: ignore[CF103] why\nacks=2\n" * (MOST + 5), "yaml")
    assert (len(ignored), ignored[0], len(notes)) == (MOST, Ignored("CF103", 1, 2, "why"), 1)
    assert read(b"client.id=a # clientscope: ignore[CF103] b\n", "properties") == ([], [])
