"""Documents of every kind, whole or half written: each has an answer, and no error that isn't meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.catalog.dialects import dialect
from clientscope.commands.lsp import LspSettings, cursor
from clientscope.commands.lsp.actions import actions
from clientscope.commands.lsp.completing import offers
from clientscope.commands.lsp.diagnostics import remarks
from clientscope.commands.lsp.documents import Document, at_line
from clientscope.commands.lsp.hovering import hover
from clientscope.errors import ClientscopeError

PARTS = (
    "acks", "linger.mss", "lingerMs", "spring.kafka.producer.properties.", "spring:\n  kafka:\n    producer:\n      properties:\n        ",
    "producer.override.", "CONNECT_PRODUCER_LINGER_MS", "KAFKA_ACKS", "queue.buffering.max.ms", "sasl.jaas.config", "clusters",
    "A.producer.acks",
    "=", ":", ": ", " ", "\n", "\r\n", "\r", "\u2028", "\n- ", "- name: ", "  value: ", "all", "2", "A,B", "\\",
    "\\ud800", "\ud800", "\U0001f600",
    "# clientscope: ignore[AN112] x", "{", "}", "[", "]", '"', "'", "&a ", "*a", "<<: ", "---\n", "${X}", "{{ x }}", "\x00", "\t",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(PARTS), max_size=25).map("".join),
    st.sampled_from(["a.properties", "a.yaml", "a.json", "a.txt", ""]),
    st.sampled_from(["java", "librdkafka", "franz-go"]),
)
def test_there_is_an_answer_to_everything(text: str, name: str, of: str) -> None:
    settings = LspSettings(dialect=of)
    document = Document(settings, "untitled:1", Path("/nowhere", name) if name else None, "yaml", text)
    try:
        report = document.report()
    except ClientscopeError:
        assert document.format == "properties"
        report = None
    for remark in remarks(report) if report else ():
        assert 1 <= remark.region.line <= remark.region.end_line <= len(document.lines)
        assert remark.region.column <= len(document.lines[remark.region.line - 1]) + 1
    for line in range(len(document.lines) + 1):
        placed = at_line(document.read, line) if document.read else None
        assert placed is None or hover(document.read, placed) != ""  # type: ignore[arg-type]
        found = cursor.at(document.lines, line, len(document.lines[line]) if line < len(document.lines) else 0, document.format)
        if found is not None:
            assert all(offer.text for offer in offers(found, document.without(line), dialect(of), document.version))
    for action in actions(document.read, document.content, name.endswith("properties"), 0, 99) if document.read else ():
        assert action.title and action.line < len(document.lines)


@pytest.mark.parametrize(
    ("name", "language", "file_format"),
    [("a.conf", "", "properties"), ("a.YML", "", "yaml"), ("a", "jproperties", "properties"), ("a", "java-properties", "properties"),
     ("a.py", "python", ""), ("", "yaml", "yaml"), ("", "plaintext", "")],
)  # fmt: skip
def test_the_format_is_the_suffix_or_else_the_language(name: str, language: str, file_format: str) -> None:
    assert Document(LspSettings(), "untitled:1", Path(name) if name else None, language, "").format == file_format
