"""session/handlers: what holds for the handler of every api key."""

from __future__ import annotations

from typing import Any

import pytest

from clientscope.session.handler import Handler
from clientscope.session.handlers import HANDLERS
from clientscope.session.session import Session
from clientscope.session.state import SessionState
from clientscope.wire.frames import REQUEST_HEAD, Treatment


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: f"k{handler.key}")
@pytest.mark.parametrize("length", [10, 64 * 1024 + 1, 2**31 - 1])
def test_whether_a_request_is_read_changes_nothing(handler: Handler[Any], length: int) -> None:
    """It is asked again for a frame that comes in parts."""
    state = SessionState(push_config=True, config_max_bytes=10_240, sasl=True, authenticated=False)
    for version in handler.versions or range(3):
        before = repr(state)
        first = handler.wants(state, REQUEST_HEAD.pack(length, handler.key, version, 7))
        assert handler.wants(state, REQUEST_HEAD.pack(length, handler.key, version, 7)) is first
        assert first is not Treatment.READ or length <= 64 * 1024, "what is kept is bounded"
        assert repr(state) == before


@pytest.mark.parametrize("handler", [each for each in HANDLERS if each.versions is not None], ids=lambda handler: f"k{handler.key}")
def test_a_version_whose_layout_is_unknown_passes(handler: Handler[Any]) -> None:
    """Byte for byte, under the client's own correlation id."""
    assert handler.versions is not None
    for version in (-1, handler.versions.stop):
        session = Session()
        frame = REQUEST_HEAD.pack(14, handler.key, version, 7) + b"\0\3app\0"
        assert b"".join(command.data for command in session.from_client(frame) if hasattr(command, "data")) == frame
