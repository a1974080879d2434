"""JSON text of whole columns, so that a topic's record crosses from Python to the JVM as one string.

As nested columns the same values would be taken apart into rows there, one value at a time, and be put together again by ``to_json``,
which costs more than decoding and judging (docs/benchmarks.md, The job).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def literals(column: pa.Array) -> pa.StringArray:
    """Each value of a column of strings or integers as JSON, null being ``null``."""
    if pa.types.is_integer(column.type):
        return pc.fill_null(column.cast(pa.string()), "null")
    return pc.fill_null(pc.binary_join_element_wise('"', _escaped(column), '"', ""), "null")


def members(plain: Mapping[str, pa.Array], written: Mapping[str, pa.StringArray], opening: str = "", closing: str = "") -> pa.StringArray:
    """The members of one object per row, without the braces, so that others may be put beside them.

    Args:
        plain: name → strings or integers.
        written: name → JSON already, without nulls.
        opening: the text before the members.
        closing: and behind them.
    """
    parts: list[pa.Array | str] = []
    for name, column in plain.items():
        # A string's quotes go with its neighbours: a text of its own for them would be one more copy.
        quote = "" if pa.types.is_integer(column.type) or column.null_count else '"'
        parts += [f"{opening}{json.dumps(name)}:{quote}", _escaped(column) if quote else literals(column)]
        opening = f"{quote},"
    for name, column in written.items():
        parts += [f"{opening}{json.dumps(name)}:", column]
        opening = ","
    return pc.binary_join_element_wise(*parts, opening.removesuffix(",") + closing, "")


def arrays(lists: pa.ListArray) -> pa.StringArray:
    """One array per list of JSON values; null where a list is."""
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")


def _escaped(strings: pa.StringArray) -> pa.StringArray:
    data = np.frombuffer(strings.buffers()[2] or b"", np.uint8)
    controls = bool((data < 0x20).any())
    escaped = strings
    for character in ("\\", '"'):
        if (data == ord(character)).any():
            escaped = pc.replace_substring(escaped, character, f"\\{character}")
    return _without_controls(strings, escaped) if controls else escaped


def _without_controls(strings: pa.StringArray, escaped: pa.StringArray) -> pa.StringArray:
    """Escapes strings with control characters one at a time: honest clients send none."""
    found = pc.fill_null(pc.match_substring_regex(strings, r"[\x00-\x1f]"), False)
    texts = [json.dumps(text, ensure_ascii=False)[1:-1] for text in strings.filter(found).to_pylist()]
    return pc.replace_with_mask(escaped, found, pa.array(texts, pa.string()))
