"""Other readings of a text: without invisible characters, with look-alike letters replaced, and with one layer of an encoding removed.

A password written in full-width letters, split by zero-width spaces, percent-encoded, in hex or in base64 is still that password to every
reader of the topic. So what judges a value judges these readings, too.

Sources: UAX #15 (NFKD), UTS #39 (``confusables.json``, by ``tests/fixtures/confusables.py``), RFC 3986 (percent-encoding), RFC 4648
(base64, base64url, base16), HTML's character references, and the escapes of Java and JSON.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from importlib import resources
from urllib.parse import unquote

DATA = resources.files("clientscope.catalog").joinpath("confusables.json")

_HEX = r"(?:[2-7][0-9A-Fa-f]){8,}"
"""Base16 of printable ASCII, as long as the shortest value that is looked at (`SHORTEST`)."""

_BASE64 = r"(?:[I-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){2,}[A-Za-z0-9+/_-]{0,3}"
"""Base64 of ASCII that begins printable: of each four characters the first three can't be all."""

_SEPARATED_HEX = r"(?:(?:0x)?[2-7][0-9A-Fa-f][ :,-]){7,}(?:0x)?[2-7][0-9A-Fa-f]"

ENCODED = rf"%[2-7][0-9A-Fa-f]|&#|\\[ux]|{_HEX}|{_SEPARATED_HEX}|{_BASE64}"
"""What a text contains that has encoded parts."""

DISGUISED = rf"[^ -~]|{ENCODED}"
"""What a text contains that has other readings than itself."""

_ANY_HEX, _HEX_RUN, _BASE64_RUN = re.compile(f"{_HEX}|{_SEPARATED_HEX}"), re.compile(_HEX), re.compile(_BASE64)
_SHORTEST_RUN = 8
_PERCENT, _ESCAPE = re.compile("%[2-7][0-9A-Fa-f]"), re.compile(r"\\(?:u00|x)([0-9A-Fa-f]{2})")
_SEPARATED_HEX_RUN = re.compile(_SEPARATED_HEX)
_INVISIBLE = frozenset({"Cf", "Mn", "Me", "Cc"})
_RIGHT_TO_LEFT = frozenset("\u202b\u202e\u2067")


def is_disguised(text: str) -> bool:
    """Whether it may have other readings: `DISGUISED`, sooner."""
    if not text.isascii() or not text.isprintable() or "%" in text or "&#" in text or "\\" in text:
        return True
    if len(text) < _SHORTEST_RUN:
        return False
    return _ANY_HEX.search(text) is not None or (text != text.lower() and _BASE64_RUN.search(text) is not None)


def readings(text: str) -> Iterator[str]:
    """What else the text may say, each once; nothing where it says only what it is."""
    if not is_disguised(text):
        return
    plain = folded(text)
    if plain != text:
        yield plain
    if not _RIGHT_TO_LEFT.isdisjoint(text):
        yield plain[::-1]
    for decoded in _decoded(plain):
        if decoded != plain:
            yield folded(decoded)


def folded(text: str) -> str:
    """The text in the ASCII letters that it looks like: NFKD, without marks and invisible characters, look-alikes replaced."""
    if text.isascii() and text.isprintable():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    visible = "".join(
        " " if each in "\t\n\r" else each for each in decomposed if each in "\t\n\r" or unicodedata.category(each) not in _INVISIBLE
    )
    return visible.translate(_CONFUSABLES)


def _decoded(text: str) -> Iterator[str]:
    """Each encoded part, one layer of its encoding taken away."""
    if _PERCENT.search(text):
        yield unquote(text)
    if "&#" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    for run in _HEX_RUN.finditer(text):
        yield bytes.fromhex(run[0]).decode("ascii", "replace")
    for run in _SEPARATED_HEX_RUN.finditer(text):
        yield bytes.fromhex(re.sub("0x|[ :,-]", "", run[0])).decode("ascii", "replace")
    if text != text.lower():  # there is hardly any text without a capital in its base64
        for run in _BASE64_RUN.finditer(text):
            yield _base64(run[0])


def _base64(run: str) -> str:
    """Base64 or base64url, cut where a group isn't whole."""
    alike = run.replace("-", "+").replace("_", "/")
    alike = alike[: len(alike) - (len(alike) % 4 == 1)]
    try:
        return base64.b64decode(alike + "=" * (-len(alike) % 4)).decode("utf-8", "replace")
    except binascii.Error:
        return run


def _confusables() -> dict[int, str]:
    data = json.loads(DATA.read_text("utf-8"))
    return {ord(each): letter for letter, alike in data["letters"].items() for each in alike}


_CONFUSABLES = _confusables()
