"""F26: what the soak measures, and that it fails where any of it grows; `make test-soak` runs it for half an hour."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
from places import ROOT

FLAT = {
    "heap in use, MB": 300.0, "other memory of the JVM's, MB": 200.0, "state, MB": 1.0, "all processes, MB (PSS)": 1_500.0,
    "open files": 400.0, "files of checkpoints": 800.0, "mean batch, ms: results": 200.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    """``bench.stream.soak``, which is not installed."""
    with pytest.MonkeyPatch.context() as path:
        path.syspath_prepend(str(ROOT))
        return importlib.import_module("bench.stream.soak")


def test_f26_what_stays_the_same_is_no_growth(soak: ModuleType) -> None:
    assert soak.grown([FLAT, FLAT, FLAT]) == []
    less = {what: 0.5 * value for what, value in FLAT.items()}
    assert soak.grown([less, FLAT, FLAT]) == [], "caches and checkpoints fill in the first third"


@pytest.mark.parametrize("what", FLAT)
def test_f26_growth_of_any_of_it_is_named(soak: ModuleType, what: str) -> None:
    """By a fifth, a batch's time as well; the heap, which is only collected now and then, by twice."""
    assert soak.grown([FLAT, FLAT, {**FLAT, what: FLAT[what] * (2.1 if "heap" in what else 1.21)}]) == [what]
