"""Other readings of a text: without characters of no width, in compatible letters, and with one layer of an encoding removed.

A password that is percent-encoded, in hex or in base64 is still that password to every reader of the topic. Only what happens by itself is
looked for: a client that wants to hide its own password can.

Sources: UAX #15 (NFKC), RFC 3986 (percent-encoding), RFC 4648 (base64, base64url, base16).

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

_PERCENT = "%[2-7][0-9A-Fa-f]"

_HEX = r"(?:[2-7][0-9A-Fa-f]){8,}"
"""Base16 of printable ASCII, hardly longer than the shortest value that is looked at."""

_BASE64 = r"(?:[I-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){2,}[A-Za-z0-9+/_-]{0,3}"
"""Base64 of ASCII that begins printable: of each four characters the first three can't be all."""

DISGUISED = rf"[^ -~]|{_PERCENT}|{_HEX}|{_BASE64}"
"""What a text contains that has other readings than itself."""

_DISGUISED, _HEX_RUN, _BASE64_RUN = re.compile(DISGUISED), re.compile(_HEX), re.compile(_BASE64)


def readings(text: str) -> Iterator[str]:
    """What else the text may say; nothing where it says only what it is."""
    if not _DISGUISED.search(text):
        return
    plain = text
    if not text.isascii():
        plain = "".join(each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf")
        yield plain
    if "%" in plain:
        yield unquote(plain)
    for run in _HEX_RUN.finditer(plain):
        yield bytes.fromhex(run[0]).decode("ascii")
    for run in _BASE64_RUN.finditer(plain):
        yield _base64(run[0])


def _base64(run: str) -> str:
    """Base64 or base64url, cut where a group isn't whole."""
    alike = run.replace("-", "+").replace("_", "/")
    alike = alike[: len(alike) - (len(alike) % 4 == 1)]
    return base64.b64decode(alike + "=" * (-len(alike) % 4)).decode("utf-8", "replace")
