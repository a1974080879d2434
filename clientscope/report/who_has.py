"""Applications and clients that pushed a secret, by findings that have its digest; the secret itself comes from standard input."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.text import Text

from clientscope.digest import DigestKey
from clientscope.errors import SettingsError
from clientscope.model.finding import Finding
from clientscope.report.findings import details
from clientscope.report.text import plain

LONGEST = 1024 * 1024
"""Bytes of a value.  A whole push has 10,240 by default (client.config.max.bytes of KIP-1324)."""

_PROMPT = "Value (it is not shown): "
_HINT = "clientscope findings who-has < FILE, or type the value on a terminal"
_LINE_ENDS = (b"\r\n", b"\n")


def read_digests(key: DigestKey, fd: int = 0) -> tuple[str, ...]:
    """Digests of the value on standard input, in hexadecimal: under the key and each that it has replaced.

    On a terminal it is a line, typed without an echo; else all up to the end.  A line end behind it may be part of it, as in PEM, or what
    ``echo`` adds: both are hashed.

    Raises:
        SettingsError: there is no value, or more than `LONGEST` bytes, or standard input can't be read.
    """
    buffer = bytearray(LONGEST + 1)
    try:
        size = _read(fd, buffer)
        if size > LONGEST:
            raise SettingsError(f"the value on standard input has more than {LONGEST:,} bytes", "give the value of one setting")
        with memoryview(buffer) as view:
            sizes = dict.fromkeys(each for each in (_without_line_end(buffer, size), size) if each)
            found = tuple(each.digest_of(view[:end]).hex() for each in (key, *key.earlier) for end in sizes)
    except OSError as error:
        raise SettingsError(f"standard input can't be read: {error.strerror}", _HINT) from None
    finally:
        buffer[:] = bytes(len(buffer))
    if not found:
        raise SettingsError("there is no value on standard input", _HINT)
    return found


def _without_line_end(buffer: bytearray, size: int) -> int:
    return next((size - len(end) for end in _LINE_ENDS if buffer.endswith(end, 0, size)), size)


def _read(fd: int, buffer: bytearray) -> int:
    """Fills the buffer as far as there is something; returns how many bytes it has then."""
    size = 0
    with _without_echo(fd) as is_line, memoryview(buffer) as view:
        while size < len(buffer):
            got = os.readv(fd, [view[size:]])  # straight into the buffer: Python's own files keep copies
            size += got
            if not got or (is_line and buffer.endswith(b"\n", 0, size)):
                break
    return size


@contextmanager
def _without_echo(fd: int) -> Iterator[bool]:
    """Prompts on a terminal, with its echo off; whether it is one."""
    if not os.isatty(fd):
        yield False
        return
    before = termios.tcgetattr(fd)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSAFLUSH, silent)
    try:
        print(_PROMPT, end="", file=sys.stderr, flush=True)
        yield True
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        print(file=sys.stderr)


ONLY_THE_BROKER = "Only the broker knows whether the password still works: clientscope compares digests and tries none."
NOBODY = (
    "No finding has this value. It must be the whole value of a setting: of sasl.jaas.config the whole line, not the password in it. "
    "Leaks that were closed are forgotten after 30 days, and a push without a digest key can't be compared."
)


def view(found: Sequence[Finding], now_ms: int) -> RenderableType:
    """Each finding's details, which have its places and clients, and what must be known about the answer."""
    if not found:
        return plain(NOBODY)
    parts = [part for finding in found for part in (details(finding, now_ms), Text())]
    return Group(*parts, plain(ONLY_THE_BROKER))
