"""The checks of libraries against settings that contradict each other; tests/real holds them against the libraries themselves."""

from __future__ import annotations

import pytest

from clientscope.catalog.dialects import DIALECTS
from udfs.rules.engine.refusals import REFUSALS, Refusal
from udfs.rules.engine.vocabulary import KEYS


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.because)
def test_a_refusals_data_are_sound(refusal: Refusal) -> None:
    assert refusal.dialects.keys() <= {each.name for each in DIALECTS}
    assert set(refusal.keys) <= set(KEYS)
