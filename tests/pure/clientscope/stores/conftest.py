"""A bucket for the tests of stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bucket import bucket


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A bucket's address, which this process finds as a user's would."""
    with pytest.MonkeyPatch.context() as patch, bucket() as (address, variables):
        for name, value in variables.items():
            patch.setenv(name, value)
        yield address
