"""What the tests of connection settings share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clientscope.client.connection_settings import connection_settings
from clientscope.errors import ClientscopeError

SECRET = "canary-secret-9e1c"
SASL = {"security.protocol": "SASL_PLAINTEXT"}


def refusal(dialect: str, settings: Mapping[str, Any]) -> ClientscopeError:
    with pytest.raises(ClientscopeError) as raised:
        connection_settings(dialect, settings)
    assert SECRET not in f"{raised.value} {raised.value.hint}"
    assert raised.value.__suppress_context__ or raised.value.__context__ is None, "nor in a traceback"
    return raised.value
