"""``clientscope lsp``, started, with a real client of the protocol: what it shows is what ``clientscope lint`` and ``explain`` say."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from editor import edited, editing
from lint_runs import run
from lsprotocol import types as lsp

from clientscope import cli
from clientscope.settings_files import MAX_BYTES

PRODUCER = """\
client.id=orders-\U0001f600
acks=2
linger.msec=5
# clientscope: ignore[AN105] order doesn't matter here
retries=5
"""


def as_linted(capsys: pytest.CaptureFixture[str], path: Path, text: str) -> list[tuple[Any, ...]]:
    path.write_text(text)
    report = json.loads(run(capsys, str(path), "--output-format", "json")[1])
    return [(each["code"], each["line"] or 1, each["severity"]) for each in report["findings"]]


def of(shown: list[lsp.Diagnostic]) -> list[tuple[Any, ...]]:
    level = {1: ("critical", "high"), 2: ("medium",), 3: ("low",), 4: ("info",)}
    return [(each.code, each.range.start.line + 1, level[each.severity or 0]) for each in shown if each.code]


def test_diagnostics_are_what_lint_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "orders.properties"
    (tmp_path / "pom.xml").write_text(
        "<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>2.8.1</version></dependency>"
    )
    expected = as_linted(capsys, path, PRODUCER)

    async def opened() -> list[list[lsp.Diagnostic]]:
        async with editing(tmp_path, "--stdio") as editor:
            shown = await editor.open(path, PRODUCER)
            better = await editor.change(path, PRODUCER.replace("acks=2", "acks=all").replace("linger.msec", "linger.ms"))
            editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(path.as_uri())))
            return [shown, better, await editor.shown(path)]

    shown, better, closed = asyncio.run(opened())
    assert [(code, line) for code, line, _ in of(shown)] == [(code, line) for code, line, _ in expected]
    assert all(severity in levels for (_, _, levels), (_, _, severity) in zip(of(shown), expected, strict=True))
    assert {"CF103", "CF101"} <= {code for code, _, _ in expected}
    assert "AN105" not in {each.code for each in shown}, "a comment ignores it"
    assert [each.message for each in shown if not each.code] == ["judged as java 2.8.1 by pom.xml"]
    (wrong,) = (each for each in shown if each.code == "CF103")
    assert (wrong.range.start.character, wrong.range.end.character) == (5, 6)
    assert "allowed: all, -1, 0 or 1" in wrong.message and wrong.code_description
    assert not {"CF101", "CF103"} & {each.code for each in better}
    assert closed == []


@pytest.mark.parametrize(("encoding", "codec"), [("utf-16", "utf-16-le"), ("utf-8", "utf-8"), ("utf-32", "utf-32-le")])
def test_columns_are_an_editors(tmp_path: Path, encoding: str, codec: str) -> None:
    text = "{client.id: \U0001f600é, acks: 0}\n"
    width = len("a".encode(codec))

    async def opened() -> tuple[list[lsp.Diagnostic], dict[str, lsp.CompletionItem]]:
        async with editing(tmp_path, encoding=encoding) as editor:
            shown = await editor.open(tmp_path / "a.yaml", text)
            await editor.open(tmp_path / "b.properties", "client.id=\U0001f600é\nacks=\U0001f600é\n")
            column = len("acks=\U0001f600é".encode(codec)) // width
            return shown, await editor.complete(tmp_path / "b.properties", 1, column)

    shown, offered = asyncio.run(opened())
    (lost,) = (each for each in shown if each.code == "AN101")
    assert text.encode(codec)[: lost.range.start.character * width].decode(codec).endswith("acks: ")
    edit = offered["all"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert edit.range.start.character == len("acks=")
    assert edit.range.end.character == len("acks=\U0001f600é".encode(codec)) // width


def test_hover_says_what_explain_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    yaml = "spring:\n  kafka:\n    producer:\n      properties:\n        linger.ms: 5\n        queue.buffering.max.ms: 5\n        x: y\n"

    async def hovered() -> list[str | None]:
        async with editing(tmp_path) as editor:
            await editor.open(tmp_path / "a.properties", PRODUCER)
            await editor.open(tmp_path / "application.yaml", yaml)
            return [
                await editor.hover(tmp_path / "a.properties", 1),
                await editor.hover(tmp_path / "a.properties", 3),
                await editor.hover(tmp_path / "application.yaml", 4, 12),
                await editor.hover(tmp_path / "application.yaml", 5, 12),
                await editor.hover(tmp_path / "application.yaml", 6, 9),
            ]

    acks, comment, linger, librdkafkas, unknown = asyncio.run(hovered())
    assert cli.main(["explain", "acks", "--software", "java"]) == 0
    assert f"{acks}\n" == capsys.readouterr().out
    assert comment is None
    assert linger is not None and linger.startswith("linger.ms of java\n")
    assert librdkafkas is not None and librdkafkas.startswith("queue.buffering.max.ms of librdkafka, linger.ms of Kafka")
    assert unknown is None


def test_names_and_words_are_offered(tmp_path: Path) -> None:
    properties = tmp_path / "a.properties"
    yaml = tmp_path / "application.yaml"
    compose = tmp_path / "compose.yaml"
    listed = "services:\n  connect:\n    environment:\n      - CONNECT_CONSUMER_MAX_POLL_REC\n      - CONNECT_PRODUCER_ACKS=\n"
    nested = "spring:\n  kafka:\n    consumer:\n      properties:\n        max.poll.records: 5\n        auto.offset.reset: \n        lin\n"

    async def offered() -> list[dict[str, lsp.CompletionItem]]:
        async with editing(tmp_path) as editor:
            await editor.open(properties, "acks=all\nlin\ncompression.type=\nenable.idempotence=\n#lin\n")
            await editor.open(yaml, nested)
            await editor.open(compose, listed)
            return [
                await editor.complete(properties, 1, 3),
                await editor.complete(properties, 2, 17),
                await editor.complete(properties, 3, 19),
                await editor.complete(properties, 4, 4),
                await editor.complete(yaml, 5, 27),
                await editor.complete(yaml, 6, 11),
                await editor.complete(yaml, 0, 0),
                await editor.complete(compose, 3, 37),
                await editor.complete(compose, 4, 30),
            ]

    names, codecs, truths, comment, resets, consumers, above, variables, words = asyncio.run(offered())
    assert {"linger.ms", "bootstrap.servers"} <= set(names)
    assert not {"acks", "max.poll.records"} & set(names), "one is there already, and one is no producer's"
    assert names["linger.ms"].detail == "long, default 5"
    assert "batch" in str(names["linger.ms"].documentation) or names["linger.ms"].documentation
    edit = names["linger.ms"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert edited("acks=all\nlin\n", edit) == "acks=all\nlinger.ms\n"
    assert set(codecs) == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert codecs["none"].detail == "default"
    assert set(truths) == {"true", "false"}
    assert comment == {}
    assert {"earliest", "latest", "none", "by_duration:"} == set(resets)
    assert "fetch.min.bytes" in consumers
    assert "linger.ms" not in consumers and "max.poll.records" not in consumers
    assert above == {}
    assert "CONNECT_CONSUMER_MAX_POLL_RECORDS" in variables and "CONNECT_CONSUMER_LINGER_MS" not in variables
    assert {"all", "0", "1"} <= set(words)


def test_actions_are_what_fix_corrects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "acks=all\nclient.id=café\nlingerMs=5\nbatch.size=16384\n"
    path = tmp_path / "a.properties"
    flags = ["--client-type", "producer", "--software-version", "3.9.2"]

    async def acted() -> list[list[lsp.CodeAction]]:
        async with editing(tmp_path, *flags) as editor:
            await editor.open(path, text)
            return [await editor.actions(path, 0, 1), await editor.actions(path, 2, 2), await editor.actions(path, 3, 3)]

    none, spelling, default = asyncio.run(acted())
    assert none == []
    assert [each.title for each in (*spelling, *default)] == ["correct to linger.ms=5", "take out batch.size=16384, the default"]
    after = text
    for each in (*default, *spelling):
        assert each.edit and each.edit.changes
        (edit,) = each.edit.changes[path.as_uri()]
        after = edited(after, edit)
    path.write_text(text)
    run(capsys, str(path), "--fix", *flags)
    assert after == path.read_text() == "acks=all\nclient.id=café\nlinger.ms=5\n"


def test_no_document_is_too_much_for_it(tmp_path: Path) -> None:
    """Larger than a client's settings, half written, of no format, under no path, with a secret: an answer follows all the same."""
    secret = "hunter2canary"

    async def opened() -> list[list[lsp.Diagnostic]]:
        async with editing(tmp_path) as editor:
            large = await editor.open(tmp_path / "large.properties", "acks=0\n" * (MAX_BYTES // 7 + 1))
            half = await editor.open(tmp_path / "half.yaml", "acks: [\n")
            broken = await editor.open(tmp_path / "broken.properties", f"ssl.key.password={secret}\nacks=\\u12\n")
            other = await editor.open(tmp_path / "main.py", "acks=0\n", "python")
            untitled = await editor.open("untitled:Untitled-1", f"acks=0\nssl.key.password={secret}\n", "properties")
            assert await editor.complete(tmp_path / "half.yaml", 50, 3) == {}
            assert await editor.hover(tmp_path / "large.properties", 0) is None
            return [large, half, broken, other, untitled]

    large, half, broken, other, untitled = asyncio.run(opened())
    assert [each.message for each in large] == [f"not judged: it is larger than {MAX_BYTES} bytes"]
    assert half == other == []
    assert [each.message.partition(":")[0] for each in broken] == ["broken.properties is not a Java properties file"]
    assert {"AN101", "SK001"} <= {each.code for each in untitled}
    assert secret not in "".join(each.message for each in (*broken, *untitled))


def test_of_thousands_of_findings_the_worst_are_shown(tmp_path: Path) -> None:
    """On one line, whose columns have all to be counted."""
    text = "{acks: 0, \u00e9: 1, " + "".join(f"orders.name{number}: 1, " for number in range(9_000)) + "}\n"

    async def opened() -> list[lsp.Diagnostic]:
        async with editing(tmp_path) as editor:
            return await editor.open(tmp_path / "a.yaml", text)

    shown = asyncio.run(opened())
    (note, *findings) = [each for each in shown if each.code or "findings, of which" in each.message]
    assert "of which the worst 1,000 are shown" in note.message
    assert len(findings) == 1_000
    assert "AN101" in {each.code for each in findings if each.severity == lsp.DiagnosticSeverity.Error}


def test_a_rules_file_holds_in_the_editor_too(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[suppress]]\ncode = "AN101"\npath = "a.*"\nreason = "a test"\nuntil = 2099-12-31\n')
    (tmp_path / "clientscope.toml").write_text('[rules]\nfile = "rules.toml"\n[lint]\ndialect = "librdkafka"\n')

    async def opened() -> list[list[lsp.Diagnostic]]:
        async with editing(tmp_path) as editor:
            found = [await editor.open(tmp_path / name, "acks=0\nqueue.buffering.max.ms=1\n") for name in ("a.properties", "b.properties")]
            (tmp_path / "rules.toml").write_text("[[suppress]]\n")
            return [*found, await editor.change(tmp_path / "a.properties", "acks=0\n")]

    suppressed, found, broken = asyncio.run(opened())
    assert "AN101" not in {each.code for each in suppressed}
    assert "AN101" in {each.code for each in found}
    assert "CF109" not in {each.code for each in found}, "it is librdkafka's own name"
    assert "rules.toml" in broken[0].message


@pytest.mark.parametrize("flags", [["--dialect", "javascript"], ["--profile", "nobodys"], ["--rules", "missing.toml"]])
def test_a_wrong_setting_ends_it_with_an_error(tmp_path: Path, flags: list[str]) -> None:
    command = [sys.executable, "-m", "clientscope", "lsp", *flags]
    done = subprocess.run(command, cwd=tmp_path, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["lsp"]) == 1
    assert "hint: pip install 'clientscope[lsp]'" in capsys.readouterr().err
