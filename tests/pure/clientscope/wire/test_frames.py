"""wire/frames: the same frames come out however the bytes were cut on their way, and nothing is held that needn't be."""

from __future__ import annotations

import struct

from frame_bytes import in_frame
from hypothesis import given
from hypothesis import strategies as st

from clientscope.wire.frames import Frame, FrameScanner, Part, Passed, Treatment

READ, DISCARD, PARTS = b"R", b"D", b"T"


def treat(head: bytes) -> Treatment:
    return {READ: Treatment.READ, DISCARD: Treatment.DISCARD, PARTS: Treatment.PARTS}.get(head[4:5], Treatment.PASS)


payloads = st.tuples(st.sampled_from([b"R", b"D", b"P", b"T"]), st.binary(min_size=0, max_size=40)).map(lambda p: p[0] + p[1])


def cut(stream: bytes, data: st.DataObject) -> list[bytes]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(st.lists(payloads), st.data())
def test_any_cutting_gives_the_same_pieces(frames: list[bytes], data: st.DataObject) -> None:
    scanner = FrameScanner(5, 0)
    out: list[tuple[str, bytes]] = []
    for received in cut(b"".join(map(in_frame, frames)), data):
        for piece in scanner.feed(received, treat):
            if isinstance(piece, Passed):
                kind, content = "passed", bytes(piece.data)
            elif isinstance(piece, Frame):
                kind, content = "read", piece.data
            elif isinstance(piece, Part):
                kind, content = "parts", piece.data
                assert piece.first == (not out or out[-1][0] != "begun") and len(piece.data) >= (5 if piece.first else 1)
                if not piece.first:
                    content = out.pop()[1] + content
                kind = "parts" if piece.last else "begun"
            else:
                kind, content = "discarded", piece.head
            if kind == "passed" and out and out[-1][0] == "passed":
                out[-1] = ("passed", out[-1][1] + content)
            elif content:
                out.append((kind, content))
    expected: list[tuple[str, bytes]] = []
    for payload in frames:
        whole = in_frame(payload)
        kind = {READ: "read", DISCARD: "discarded", PARTS: "parts"}.get(payload[:1], "passed")
        content = whole[:5] if kind == "discarded" else whole
        if kind == "passed" and expected and expected[-1][0] == "passed":
            expected[-1] = ("passed", expected[-1][1] + content)
        else:
            expected.append((kind, content))
    assert out == expected


def test_a_large_frame_that_passes_is_not_held() -> None:
    scanner = FrameScanner(5, 0)
    first = list(scanner.feed(struct.pack(">i", 100_000_000) + b"P" + b"x" * 100, treat))
    assert [len(piece.data) for piece in first if isinstance(piece, Passed)] == [105]
    chunk = b"y" * 1000
    assert list(scanner.feed(chunk, treat)) == [Passed(chunk)]
    assert not scanner.held


@given(st.lists(payloads), st.data())
def test_skipping_what_passes_comes_to_the_same(frames: list[bytes], data: st.DataObject) -> None:
    fed, skipping = FrameScanner(5, 0), FrameScanner(5, 0)
    for received in cut(b"".join(map(in_frame, frames)), data):
        pieces = list(fed.feed(received, treat))
        if skipping.skip(received, lambda data, position: treat(data[position : position + 5]) is Treatment.PASS):
            assert b"".join(bytes(piece.data) for piece in pieces if isinstance(piece, Passed)) == received
            assert all(isinstance(piece, Passed) for piece in pieces)
        else:
            assert list(skipping.feed(received, treat)) == pieces
    begun = in_frame(data.draw(payloads))[:-1]
    assert list(skipping.feed(begun, treat)) == list(fed.feed(begun, treat)), "and both are at the same place in the stream"
