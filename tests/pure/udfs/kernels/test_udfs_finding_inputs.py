"""udfs/kernels/finding_inputs: what findings are given of a batch, and what is left out since a newer record says it."""

from __future__ import annotations

from typing import Any

import pytest
from record_bytes import binaries, config_record, setting

from clientscope.digest import DigestKey
from udfs.kernels.finding_inputs import pushed


@pytest.mark.parametrize(("first", "kept"), [(setting("sasl.password", "hunter2hunter2"), [0, 1]), (setting("acks", "0"), [1])])
def test_keeps_a_clients_newest_push_and_each_with_a_secret(first: Any, kept: list[int]) -> None:
    """A secret that a later push no longer has was leaked all the same."""
    records = [config_record(first, client_id="orders"), config_record(setting("acks", "all"), client_id="orders")]
    assert pushed(binaries(*records), DigestKey(b"k" * 32)).field("row").to_pylist() == kept
