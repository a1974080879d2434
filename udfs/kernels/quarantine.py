"""Quarantine of bytes that can't be decoded: their number, and a keyed digest."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.digest import DigestKey

FIELDS = (pa.field("length", pa.int32()), pa.field("digest", pa.string()))


def with_evidence(
    decode: Callable[[pa.Array, DigestKey | None], pa.StructArray], values: pa.Array, key: DigestKey | None
) -> pa.StructArray:
    """Decoded records with `FIELDS` behind their own; ``digest`` (hexadecimal) only for those that failed, and with a key."""
    decoded = decode(values, key)
    failed = decoded.field("decode_error").is_valid().to_numpy(zero_copy_only=False)
    columns = [decoded.field(field.name) for field in decoded.type]
    lengths = pc.fill_null(pc.binary_length(values), 0)
    return pa.StructArray.from_arrays([*columns, lengths, _digests(values, np.flatnonzero(failed), key)], fields=[*decoded.type, *FIELDS])


def digest(value: bytes, key: DigestKey | None) -> str | None:
    """HMAC-SHA-256 of the bytes, in hexadecimal; None without a key."""
    return None if key is None else hmac.digest(key.secret, value, "sha256").hex()


def _digests(values: pa.BinaryArray, failed: npt.NDArray[Any], key: DigestKey | None) -> pa.StringArray:
    digests: list[str | None] = [None] * len(values)
    for position in failed:
        digests[position] = digest(values[position].as_py() or b"", key)
    return pa.array(digests, pa.string())
