"""The rules, in the order in which results list them.  To add one: one file here, one line below."""

from __future__ import annotations

from udfs.rules import an101_acks_zero, sk001_pushed_credential

RULES = (
    sk001_pushed_credential.RULE,
    an101_acks_zero.RULE,
)
