"""Vectorised twin of `clientscope.records.principals.anonymous_if_unsaid`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.layouts import Kind
from clientscope.records.principals import ANONYMOUS, PLAINTEXT

_NEEDED = {"principal", "security_protocol"}


def principals(records: pa.StructArray) -> pa.StringArray | None:
    """Principals of decoded records, whichever release wrote them; None if the records lack the fields.

    A heartbeat is about no client, so it has none.
    """
    names = {field.name for field in records.type}
    if not names >= _NEEDED:
        return None
    principal = records.field("principal")
    if not principal.null_count:
        return None
    unsaid = pc.and_(principal.is_null(), pc.equal(records.field("security_protocol"), PLAINTEXT).fill_null(False))
    if "kind" in names:
        unsaid = pc.and_(unsaid, pc.less(records.field("kind"), int(Kind.HEARTBEAT)).fill_null(False))
    return pc.if_else(unsaid, ANONYMOUS, principal) if unsaid.true_count else None
