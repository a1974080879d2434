"""PushConfig (key 1324): the client says how it is configured.

KIP-1324; the holes in it are closed as the project's specs say ("Numbers", "Holes in KIP-1324").

Behavior:
- The raw size is checked before anything is decoded: CONFIG_TOO_LARGE.
- A body that isn't exactly one request, no settings at all, more than 512, an empty key, a key that stands there twice, or a type outside
  0 to 8: INVALID_REQUEST.
- A version other than 0: UNSUPPORTED_VERSION.
- Before SASL authentication has succeeded, on a listener that asks for it: the connection is closed, as by Kafka's SaslServerAuthenticator.
- All others go to the policy when their turn has come; its verdict is the answer.
- Each has its turn by a carrier (see state.py), so who pushed is settled by then: an earlier ApiVersions has been answered.
"""

from __future__ import annotations

import time

from clientscope.errors import WireError
from clientscope.policy.interface import ClientConfig
from clientscope.session.state import Command, Counted, PendingPush, Pushed, SessionState, ToClient, Verdict
from clientscope.wire import api_versions
from clientscope.wire.codes import CONFIG_TOO_LARGE, ERROR_NAMES, INVALID_REQUEST, UNSUPPORTED_VERSION
from clientscope.wire.frames import REQUEST_HEAD
from clientscope.wire.messages import PushConfigResponse
from clientscope.wire.push_config import read_configs


def too_large(state: SessionState, head: bytes) -> list[Command]:
    """A push whose frame alone says that it is too large; its bytes are thrown away as they come."""
    _, _, _, correlation_id = REQUEST_HEAD.unpack_from(head)
    return _take(state, correlation_id, (), "too_large", _too_large(state))


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client pushes."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    if version != 0:
        return _take(state, correlation_id, (), "unsupported_version", Verdict(UNSUPPORTED_VERSION, "PushConfig has version 0 alone"))
    try:
        cursor = api_versions.Cursor(frame, REQUEST_HEAD.size)
        cursor.nullable_string()
        cursor.tags()
        body = frame[cursor.position :]
        configs = tuple(ClientConfig(*entry) for entry in read_configs(body)) if len(body) <= state.config_max_bytes else None
    except WireError as error:
        return _take(state, correlation_id, (), error.reason, Verdict(INVALID_REQUEST, f"the request can't be read: {error.reason}"))
    if configs is None:
        return _take(state, correlation_id, (), "too_large", _too_large(state))
    return _take(state, correlation_id, configs)


def response(state: SessionState, push: PendingPush) -> list[Command]:
    """The carrier has come back: the push's turn."""
    if push.refused is not None:
        return _answer(push, push.refused)
    state.awaited = push
    return [Pushed(push.token, push.configs, push.correlation_id, push.received_ms)]


def answer(state: SessionState, token: int, verdict: Verdict) -> list[Command]:
    """The policy has spoken, or time is up; only the first verdict counts."""
    push = state.awaited
    if push is None or push.token != token:
        return []
    state.awaited = None
    return _answer(push, verdict)


def _too_large(state: SessionState) -> Verdict:
    return Verdict(CONFIG_TOO_LARGE, f"larger than client.config.max.bytes={state.config_max_bytes}")


def _take(
    state: SessionState, correlation_id: int, configs: tuple[ClientConfig, ...], reason: str = "", refused: Verdict | None = None
) -> list[Command]:
    if not state.authenticated:
        raise WireError("unauthenticated_push")
    state.tokens += 1
    push = PendingPush(state.tokens, correlation_id, time.time_ns() // 1_000_000, configs, refused)
    counted: list[Command] = [Counted("pushes_refused", reason)] if refused is not None else []
    return [*counted, state.carrier(correlation_id, push)]


def _answer(push: PendingPush, verdict: Verdict) -> list[Command]:
    message = PushConfigResponse(
        version=0, throttle_time_ms=verdict.throttle_time_ms, error_code=verdict.error_code, error_message=verdict.error_message
    )
    message.with_header(correlation_id=push.correlation_id)
    outcome = Counted("pushes_answered", ERROR_NAMES.get(verdict.error_code, "unknown_server_error"))
    return [outcome, ToClient(bytes(message.encode(header=True, framed=True)))]
