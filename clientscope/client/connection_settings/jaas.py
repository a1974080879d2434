"""Parser of ``sasl.jaas.config``, by the rules of Kafka's JaasConfig and java.io.StreamTokenizer.

``Module required name="value" …;`` where a value is quoted by either quote, with Java's escapes, or is a bare word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from clientscope.errors import SettingsError

KEY = "sasl.jaas.config"

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = {"required", "requisite", "sufficient", "optional"}


@dataclass(frozen=True)
class Jaas:
    """One entry: the login module's class, and its options, which may be secrets."""

    module: str
    options: dict[str, str] = field(repr=False)


class _Token(NamedTuple):
    """Text, and whether it is a word or quoted rather than a sign of its own."""

    text: str
    is_word: bool


def parse(config: str) -> Jaas:
    """The one entry of a client's configuration.

    Raises:
        SettingsError: it isn't one; nothing of it is quoted.
    """
    tokens = list(_tokens(config))
    if len(tokens) < 3 or not tokens[0].is_word or tokens[1].text.lower() not in _FLAGS:
        raise _wrong("it must begin with a login module and 'required'")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and tokens[at] != (";", False):
        name, sign, value = (*tokens[at : at + 3], *[_Token("", False)] * 3)[:3]
        if not name.is_word or sign != ("=", False) or not value.is_word:
            raise _wrong(f"option number {len(options) + 1} has no value; one that isn't a word must be in quotes")
        options[name.text] = value.text
        at += 3
    if at >= len(tokens):
        raise _wrong("it must end with a semicolon")
    if at + 1 < len(tokens):
        raise _wrong("it must hold one login module")
    return Jaas(tokens[0].text, options)


def _wrong(why: str) -> SettingsError:
    return SettingsError(f"{KEY}: {why}", 'write it as: MODULE required username="…" password="…";')


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        char = text[at]
        if char <= " ":
            at += 1
        elif char == "/":  # to the end of the line, or of the comment
            end = text.find("*/", at + 2) if text.startswith("/*", at) else text.find("\n", at + 2)
            at = len(text) if end < 0 else end + (2 if text.startswith("/*", at) else 1)
        elif char in "\"'":
            value, at = _quoted(text, at)
            yield _Token(value, True)
        elif _begins_number(text, at):
            at = next((end for end in range(at + 1, len(text)) if not (text[end].isdecimal() or text[end] == ".")), len(text))
            yield _Token("", False)  # Java's is a number, which is no value
        elif _is_letter(char) and char != "-":
            end = next((end for end in range(at, len(text)) if not (_is_letter(text[end]) or text[end] in "0123456789.")), len(text))
            yield _Token(text[at:end], True)
            at = end
        else:
            yield _Token(char, False)
            at += 1


def _is_letter(char: str) -> bool:
    return char in "-_$" or (char.isascii() and char.isalpha()) or char >= "\xa0"


def _begins_number(text: str, at: int) -> bool:
    return text[at] in "0123456789." or (text[at] == "-" and text[at + 1 : at + 2] in tuple("0123456789."))


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The text inside the quotes that begin here, and the position after it; the end of a line also ends it."""
    quote, at = text[at], at + 1
    value: list[str] = []
    while at < len(text) and text[at] not in (quote, "\n", "\r"):
        char = text[at]
        at += 1
        if char == "\\" and at < len(text):
            char = text[at]
            at += 1
            if char in "01234567":
                digits = char
                while at < len(text) and text[at] in "01234567" and len(digits) < (3 if char <= "3" else 2):
                    digits += text[at]
                    at += 1
                char = chr(int(digits, 8))
            else:
                char = _ESCAPES.get(char, char)
        value.append(char)
    return "".join(value), at + (at < len(text) and text[at] == quote)
