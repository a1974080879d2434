"""The value of ``clientscope findings who-has``: read from standard input, hashed, and in no copy in memory afterwards."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from programs import python
from refusals import refused

from clientscope.digest import DigestKey
from clientscope.report.who_has import LONGEST, read_digests

OLD = DigestKey(b"o" * 32)
KEY = DigestKey(b"k" * 32, (OLD,))
HALVES = (b"correct-horse-", b"battery-staple-9431")


def read(data: bytes, key: DigestKey = KEY) -> tuple[str, ...]:
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as file:
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return read_digests(key, ours)
    finally:
        os.close(ours)
        writer.join(10)


def test_it_is_hashed_as_gateways_hash_what_they_redact() -> None:
    hashed = (KEY.digest("hunter2").hex(), OLD.digest("hunter2").hex())
    assert read(b"hunter2") == hashed, "under the key and the one before it"
    assert set(hashed) < set(read(b"hunter2\n")) and set(hashed) < set(read(b"hunter2\r\n")), "echo adds a line end"
    assert KEY.digest("-----\nabc\n").hex() in read(b"-----\nabc\n"), "which belongs to a certificate"
    assert KEY.digest("prä fix").hex() in read("prä fix\n".encode())
    assert len(read(b"x" * LONGEST)) == 2


@pytest.mark.parametrize(("data", "message"), [(b"", "there is no value"), (b"x" * (LONGEST + 1), "more than 1,048,576 bytes")])
def test_what_is_no_value(data: bytes, message: str) -> None:
    with refused(message):
        read(data)


def test_standard_input_that_is_closed() -> None:
    ours, theirs = os.pipe()
    os.close(theirs)
    os.close(ours)
    with refused("standard input can't be read"):
        read_digests(KEY, ours)


SCAN = """
import re, sys
from clientscope.digest import DigestKey
from clientscope.report.who_has import read_digests

def copies(first, second):
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in list(maps):
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1][1] != "w" or "[v" in line:
                continue
            try:
                memory.seek(begin)
                held = memory.read(end - begin)
            except OSError:
                continue
            for at in re.finditer(re.escape(first), held):
                found += held[at.end():at.end() + len(second)] == second
    return found

kept = sys.stdin.buffer.read() if "keep" in sys.argv else None
if kept is None:
    print(read_digests(DigestKey(b"k" * 32))[0])
print(copies(*(part.encode() for part in sys.argv[1:3])))
"""
"""The two halves stand behind one another only in a copy of the value."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/mem")
def test_no_copy_is_left_in_memory() -> None:
    secret, words = b"".join(HALVES).decode(), ["-c", SCAN, *(half.decode() for half in HALVES)]
    forgotten = python(*words, input=secret)
    assert forgotten.stdout.split() == [KEY.digest(secret).hex(), "0"], forgotten.stderr
    kept = python(*words, "keep", input=secret)
    assert int(kept.stdout) > 0, "the scan sees a copy that is kept"
