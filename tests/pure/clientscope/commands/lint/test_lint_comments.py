"""Comments in settings files that ignore findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clientscope.cli import main
from clientscope.commands.lint.comments import MOST, Ignored, read


def linted(path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    main(["lint", "--output-format", "json", "--client-type", "producer", str(path)])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.properties", "client.id=orders\n# clientscope: ignore[CF103, AN101] a test of errors\n\n# another\nacks=2\n"),
        ("a.properties", "client.id=orders\n! clientscope: ignore[CF103] a test of errors\nacks = 2\n"),
        ("a.yaml", "client.id: orders\nacks: 2  # clientscope: ignore[CF103] a test of errors\n"),
        ("a.yml", "client.id: orders\n# clientscope: ignore[CF103] a test of errors\nacks: 2\n"),
    ],
)
def test_a_comment_ignores_a_finding_of_its_setting(name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(text)
    found = linted(tmp_path / name, capsys)
    assert "CF103" not in {each["code"] for each in found["findings"]}
    (suppressed,) = found["files"][0]["suppressed"]
    assert (suppressed["code"], suppressed["reason"]) == ("CF103", "a test of errors")


def test_a_finding_without_a_place_is_ignored_from_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.properties").write_text("# clientscope: ignore[AN306] it is named elsewhere\nacks=all\n")
    assert "AN306" not in {each["code"] for each in linted(tmp_path / "a.properties", capsys)["findings"]}


@pytest.mark.parametrize(
    "comment",
    [
        "# clientscope: ignore[CF103]",
        "# clientscope: ignore[everything] a reason",
        "# clientscope: ignore[CF101] another rule",
        "# ignore[CF103] not ours",
    ],
)
def test_other_comments_ignore_nothing(comment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.properties").write_text(f"{comment}\nacks=2\n")
    assert "CF103" in {each["code"] for each in linted(tmp_path / "a.properties", capsys)["findings"]}


def test_another_settings_finding_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.properties").write_text("# clientscope: ignore[CF103] this one\nacks=2\ncompression.type=zst\n")
    assert "CF103" in {each["code"] for each in linted(tmp_path / "a.properties", capsys)["findings"]}


def test_a_secret_is_not_ignored_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jaas = 'sasl.jaas.config=org.example.Module required password="canary-1";'
    (tmp_path / "a.properties").write_text(f"acks=all\n# clientscope: ignore[SK001] a test's\n{jaas}\n")
    found = linted(tmp_path / "a.properties", capsys)
    assert "SK001" in {each["code"] for each in found["findings"]}
    assert any("only the rules file" in note["text"] for note in found["files"][0]["notes"])


def test_a_value_of_a_properties_file_is_no_comment() -> None:
    assert read(b"client.id=a # clientscope: ignore[CF103] b\n", "properties") == ([], [])


def test_comments_are_bounded() -> None:
    ignored, notes = read(b"# clientscope: ignore[CF103] why\nacks=2\n" * (MOST + 5), "yaml")
    assert len(ignored) == MOST
    assert ignored[0] == Ignored("CF103", 1, 2, "why")
    assert len(notes) == 1
