"""What is before a cursor, by the text alone: whatever the text is, there is an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.commands.lsp.cursor import WrittenPart, at

NESTED = "spring:\n  # a comment\n  kafka:\n    producer:\n      properties:\n        linger.ms: 5\n        acks: "
PLACES = (
    ("properties", "lin", WrittenPart("", "lin", None)),
    ("properties", "", WrittenPart("", "", None)),
    ("properties", "  acks = al", WrittenPart("", "acks", "al")),
    ("properties", "acks:", WrittenPart("", "acks", "")),
    ("properties", "acks al", WrittenPart("", "acks", "al")),
    ("properties", "# lin", None),
    ("properties", "a=1,\\\n  lin", None),
    ("properties", "a=1\\\\\nlin", WrittenPart("", "lin", None)),
    ("yaml", "lin", WrittenPart("", "lin", None, True)),
    ("yaml", NESTED, WrittenPart("spring.kafka.producer.properties.", "acks", "", True)),
    ("yaml", NESTED + "\n  kaf", WrittenPart("spring.", "kaf", None, True)),
    ("yaml", "a:\n  'acks': \"al", WrittenPart("a.", "acks", "al", True)),
    ("yaml", "acks:", None),
    ("yaml", "- acks", None),
    ("yaml", "environment:\n- CONNECT_PRODUCER_AC", WrittenPart("environment.", "CONNECT_PRODUCER_AC", None, True)),
    ("yaml", "a:\n  env:\n    - B=c\n    - 'ACKS=a", WrittenPart("a.env.", "ACKS", "a", True)),
    ("json", '{"acks', None),
)


@pytest.mark.parametrize(("file_format", "text", "expected"), PLACES)
def test_what_is_being_written(file_format: str, text: str, expected: WrittenPart | None) -> None:
    lines = text.split("\n")
    assert at(lines, len(lines) - 1, len(lines[-1]), file_format) == expected


@given(
    st.lists(st.text(st.sampled_from("ab.:=#!\\\"'-{}[] \t%/_é\U0001f600"), max_size=20), max_size=8),
    st.integers(-1, 9), st.integers(0, 25), st.sampled_from(["properties", "yaml", "json", ""]),
)  # fmt: skip
def test_there_is_an_answer_for_every_place(lines: list[str], line: int, column: int, file_format: str) -> None:
    found = at(lines, line, column, file_format)
    if found is not None:
        assert lines[line][:column].endswith(found.written)


def test_it_takes_no_longer_for_a_long_line() -> None:
    assert at(["a" * 1_000_000], 0, 1_000_000, "yaml") is None
    assert at(["a:"] * 100_000 + ["  b"], 100_000, 3, "yaml") == WrittenPart("a.", "b", None, True)
