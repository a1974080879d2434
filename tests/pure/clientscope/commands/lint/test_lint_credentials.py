"""A credential is found wherever it stands: in settings that are no client's, in text of any format, and in logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from command_runs import Document, Run
from golden import texts
from hypothesis import given
from hypothesis import strategies as st

from clientscope.commands.lint.credentials import MOST, in_lines


def lines(name: str) -> list[str]:
    return (Path(__file__).parent / "cases" / f"{name}.txt").read_text().splitlines()[1:]


def leaks(report: dict[str, Any]) -> str:
    return ", ".join(f"{each['code']} {each['line']}" for each in report["findings"] if each["code"].startswith("SK"))


@pytest.mark.parametrize(("title", "name", "expected", "text"), texts(__file__, "found_in_files.txt"))
def test_a_credential_is_found_with_its_line_and_never_shown(
    lint: Document, run: Run, title: str, name: str, expected: str, text: str
) -> None:
    assert leaks(lint(name, text)) == expected, title
    for form in ("full", "concise", "json", "sarif", "github"):
        said = run(name, "--output-format", form, "--fail-on", "critical")
        assert said.status == 1
        assert "canary" not in said.out + said.err and "correcthorse" not in said.out


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("big.txt", "a line of many\n" * 100_000 + "password=canary-Big-1\n", "SK001 100001"),
        ("big.txt", f"{'var a = 1; ' * 2_000}password='canary-End-1'\n", "SK001 1"),
        ("a.json", "[" + '"word", ' * 200_000 + '{"sasl.password": "Zq5canary9"}]', "SK001 1"),
    ],
    ids=["behind a MiB", "the end of a long line", "one endless line"],
)
def test_a_credential_is_found_however_far_it_is(lint: Document, name: str, text: str, expected: str) -> None:
    assert leaks(lint(name, text)) == expected


@pytest.mark.parametrize("line", lines("credentials"))
def test_a_line_that_has_one(line: str) -> None:
    assert [(each.value, line[each.region.column - 1 : each.region.end_column - 1]) for each in in_lines([line])] == [
        ("canary-9x", "canary-9x")
    ]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("INFO login password=1,canary-9x", "1,canary-9x"), ("INFO token=ab|canary-9x|c,", "ab|canary-9x|c"),
        ("{password=canary-9x,acks=all, x=1}", "canary-9x"), ("INFO secrets=alpha,beta tokens: foo|bar password=get,put", None),
    ],
)  # fmt: skip
def test_a_value_ends_where_the_next_name_begins(line: str, value: str | None) -> None:
    assert [each.value for each in in_lines([line])] == ([value] if value else [])


@pytest.mark.parametrize("line", lines("no_credentials"))
def test_a_line_that_has_none(line: str) -> None:
    assert in_lines([line]) == []


@pytest.mark.parametrize(("title", "name", "text"), texts(__file__, "quiet_files.txt"))
def test_what_is_no_credential_stays_quiet(lint: Document, title: str, name: str, text: str) -> None:
    assert leaks(lint(name, text)) == "", title


def test_what_is_no_text_is_said(run: Run) -> None:
    Path("key.jks").write_bytes(b"\xfe\xed\0\0\0\2key")
    Path("nul.properties").write_bytes(b"\0" * 5_000)
    for name in ("key.jks", "nul.properties"):
        said = run(name)
        assert said.status == 2 and "is not a text file" in said.err


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 5_000 + b"acks=all\nsasl.password=canary-9x\n",
        b"HOME=/root\0SASL_PASSWORD=canary-9x\0",
        "sasl.password: canary-9x".encode("utf-16-le"),
        b"a=" + b"x" * (2 << 20) + b"\0\nsasl.password=canary-9x",
    ],
    ids=["what a crash left", "an environment", "UTF-16 without a mark", "much"],
)
@pytest.mark.parametrize("name", ["a.properties", "a.yaml", "a.json", "environ"])
def test_a_credential_is_found_beside_bytes_of_no_text(content: bytes, name: str, run: Run) -> None:
    Path(name).write_bytes(content)
    said = run(name, "--fail-on", "critical")
    assert (said.status, "canary" in said.out + said.err) == (1, False)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.properties", "a.yaml", "a.txt"])
def test_any_unicode_with_a_mark_is_read(encoding: str, name: str, run: Run) -> None:
    """As PowerShell's ``>`` writes it."""
    Path(name).write_bytes("sasl.password: canary-16\n".encode(encoding))
    said = run(name, "--fail-on", "critical")
    assert (said.status, "canary" in said.out) == (1, False)


@pytest.mark.parametrize("name", ["a.properties", "a.log"])
def test_a_pipe_with_a_name_is_refused_at_once(name: str, run: Run) -> None:
    os.mkfifo(name)
    said = run(name)
    assert said.status == 2 and "is no file" in said.err and "| clientscope lint -" in said.err


def test_a_flood_of_them_is_bounded() -> None:
    assert len(in_lines(['password = "canary-1"'] * 3 * MOST)) == MOST
    assert len(in_lines(["password='canary-1' " * 100_000])) <= MOST


@given(st.lists(st.text(max_size=200), max_size=5))
def test_no_text_breaks_it(lines: list[str]) -> None:
    for each in in_lines(lines):
        assert lines[each.line - 1][each.region.column - 1 : each.region.end_column - 1] == each.value
