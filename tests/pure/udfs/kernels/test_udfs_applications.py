"""Applications, by what users call their clients."""

from __future__ import annotations

import pytest
from golden import cases

from udfs.kernels.applications import of_client


@pytest.mark.parametrize(("client_id", "application"), cases(__file__, "applications.txt"))
def test_client_id_without_its_instance(client_id: str, application: str) -> None:
    assert of_client(client_id) == application
    assert of_client(application) == application


def test_no_client_id_is_no_application() -> None:
    assert of_client(None) is None
