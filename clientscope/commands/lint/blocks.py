"""Settings in nested blocks: HCL (Terraform), TOML, INI, HOCON, Logstash's pipelines and the like, read by what they have in common.

A name and a value stand with ``=``, ``=>``, ``:`` or white space between them, within ``{ … }`` or below a ``[header]``. That is all
that is looked at: it is no parser of any of these languages, and what it doesn't understand has no name that anybody asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from clientscope.commands.lint.placed import MAX_LEVELS, TOO_DEEP, LineStarts, Malformed, Placed, embedded

_TOKEN = re.compile(
    r"""(?P<header>(?:^|(?<=[\r\n]))[ \t]*\[\[?[ \t]*(?P<section>[^\[\]\r\n]{1,200})\]\]?[ \t]*(?=[#;\r\n]|\Z))
    |(?P<heredoc><<[-~]?(?P<label>\w+)\r?\n)
    |(?P<comment>(?:\#|//|(?:^|(?<=[\r\n]))[ \t]*;)[^\r\n]*)
    |(?P<text>"(?:\\.|[^"\\\r\n])*+"?|'[^'\r\n]*')
    |(?P<assign>=>|=|:(?=\s))
    |(?P<line>[\r\n]+)
    |(?P<mark>[{}\[\],])
    |(?P<word>(?:[^\s{}\[\],="':\#]|:(?!\s)|(?<=\S)\#)+)""",
    re.VERBOSE,
)


_MARKUP = re.compile(
    r"""(?P<comment><!--)|</?(?P<group>bean|map|props|util:map|util:properties|Kafka)(?=[\s>])
    |<(?:entry|prop|property|Property)\s{1,80}(?:key|name)\s{0,8}=\s{0,8}["'](?P<key>[^"'<>]{1,200})["']\s{0,80}
    (?:value\s{0,8}=\s{0,8}(?:"(?P<double>[^"<>]{0,4096})"|'(?P<single>[^'<>]{0,4096})')
    |>\s{0,80}(?:<value>\s{0,80})?(?P<text>[^<>]{0,4096})<)""",
    re.VERBOSE,
)


def blocks(content: bytes) -> Iterator[Placed]:
    """The settings in the file's order; names of blocks and headers are joined by dots, and a list's items by commas.

    Raises:
        Malformed: it has too many levels.
        UnicodeDecodeError: it isn't UTF-8.
    """
    text = content.decode("utf-8")
    yield from _Reader(text).settings()


class _Reader:
    """One file: the blocks that are open, and the statement that is being read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = LineStarts(text)
        self._header = ""
        self._open: list[str] = []
        self._names: list[re.Match[str]] = []
        self._values: list[re.Match[str]] = []
        self._assigned = False
        self._listed = 0

    def settings(self) -> Iterator[Placed]:
        position = 0
        while match := _TOKEN.search(self._text, position):
            position = match.end()
            kind = match.lastgroup
            if kind == "header" and not self._listed:
                yield from self._ended()
                self._header, self._open = f"{_plain(match['section'])}.", []
            elif kind == "heredoc":
                end = re.compile(rf"^[ \t]*{re.escape(match['label'])}\b", re.M).search(self._text, position)
                stop = end.start() if end else len(self._text)
                yield from embedded(self._lines, position, stop, self._named(".".join(_plain(each[0]) for each in self._names)) + ".")
                self._reset()
                position = end.end() if end else stop
            elif kind in ("text", "word"):
                (self._values if self._assigned else self._names).append(match)
            elif kind == "assign":
                yield from self._assign()
            elif kind == "line" and not self._listed:
                yield from self._ended()
            elif kind == "mark":
                yield from self._marked(match[0])
        yield from self._ended()

    def _assign(self) -> Iterator[Placed]:
        """What stands before it is a name; behind a value it begins the next setting on the same line."""
        if self._assigned and len(self._values) > 1 and not self._listed:
            name = self._values.pop()
            yield from self._ended()
            self._names = [name]
        self._assigned = self._assigned or bool(self._names)

    def _marked(self, mark: str) -> Iterator[Placed]:
        if mark == "{":
            self._open.append(".".join(_plain(each[0]) for each in self._names) if not self._values else "")
            if len(self._open) > MAX_LEVELS:
                raise Malformed(TOO_DEEP)
            self._reset()
        elif mark == "}":
            yield from self._ended()
            if self._open:
                self._open.pop()
        elif mark == "[":
            self._listed += self._assigned
        elif mark == "]":
            self._listed = max(0, self._listed - 1)
        elif not self._listed:
            yield from self._ended()

    def _ended(self) -> Iterator[Placed]:
        """The statement that has been read, where it is a setting."""
        names, values = self._names, self._values
        if not self._assigned and len(names) == 2:
            names, values = names[:1], names[1:]
        self._reset()
        if names and values and _plain(names[-1][0]):
            key, first, last = names[-1], values[0], values[-1]
            value = ",".join(_plain(each[0]) for each in values)
            region = self._lines.region(first.start(), last.end())
            yield Placed(self._named(key[0]), value, region, self._lines.at(key.start())[0])

    def _named(self, key: str) -> str:
        return self._header + "".join(f"{each}." for each in self._open if each) + _plain(key)

    def _reset(self) -> None:
        self._names, self._values, self._assigned, self._listed = [], [], False, 0


def _plain(text: str) -> str:
    """Without the quotes around it."""
    text = text.strip()
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text


def markup(content: bytes) -> Iterator[Placed]:
    """Names and values in XML as Spring and Log4j write them: ``<entry key="acks" value="0"/>``, ``<prop key="acks">0</prop>``.

    Each map and each bean has a number before its names, as has what is behind them. It is no parser of XML either, and looks up no entity.

    Raises:
        UnicodeDecodeError: it isn't UTF-8.
    """
    text = content.decode("utf-8")
    lines, position, number = LineStarts(text), 0, 0
    while match := _MARKUP.search(text, position):
        position, group = match.end(), match.lastgroup
        if group == "comment":
            end = text.find("-->", position)
            position = len(text) if end < 0 else end
        elif group == "group":
            number += 1
        elif group:
            line = lines.at(match.start())[0]
            value = unescape(match[group]).strip()
            yield Placed(f"[{number}].xml.{match['key']}", value, lines.region(*match.span(group)), line)
