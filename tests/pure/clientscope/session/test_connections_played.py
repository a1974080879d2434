"""F41: whole connections against a model that knows the truth."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

from connection_model import Case, play

_CASES, _STEP = 1_000, 500


def _play(seeds: range) -> int:
    for seed in seeds:
        try:
            play(Case.of(seed), look=bool(seed % 2))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
    return len(seeds)


def test_f41_identity_order_and_bytes_are_the_brokers_own() -> None:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        played = pool.map(_play, (range(start, start + _STEP) for start in range(0, _CASES, _STEP)))
        assert sum(played) == _CASES
