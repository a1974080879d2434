"""Bytes that are nearly valid."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def mutated(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> bytes:
    """A value with up to three changes: a byte flipped, added or dropped, the end cut off or more behind it."""
    value = bytearray(draw(values))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(value) - 1, 0)))
        match draw(st.sampled_from(["flip", "cut", "insert", "extend", "drop"])):
            case "flip" if value:
                value[at] = draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xC0, 0xED, 0xFF, value[at] ^ 1]))
            case "cut":
                del value[at:]
            case "insert":
                value[at:at] = draw(st.binary(min_size=1, max_size=3))
            case "extend":
                value += draw(st.binary(min_size=1, max_size=3))
            case "drop" if value:
                del value[at]
            case _:
                pass
    return bytes(value)
