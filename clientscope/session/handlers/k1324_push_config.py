"""PushConfig (key 1324): a client's configuration.

KIP-1324; the holes in it are closed as the project's specs say ("Numbers", "Holes in KIP-1324").

Behavior:
- The raw size is checked before anything is decoded: CONFIG_TOO_LARGE.
- A body that isn't exactly one request, no settings at all, more than 512, an empty key, a key that is there twice, or a type outside
  0 to 8: INVALID_REQUEST.
- A version other than 0: UNSUPPORTED_VERSION.
- Before SASL authentication has succeeded, on a listener that asks for it: the connection is closed, as by Kafka's SaslServerAuthenticator.
- All others go to the policy when their turn has come; its verdict is the answer.
- Each has its turn by a carrier (see state.py), so the client's identity is settled: an earlier ApiVersions has been answered.
"""

from __future__ import annotations

from clientscope.clock import now_ms
from clientscope.errors import ClientConfigTooLargeException, WireError
from clientscope.policy.interface import ClientConfig
from clientscope.session.handler import Handler
from clientscope.session.state import Command, Counted, Pushed, SessionState, ToClient, Verdict
from clientscope.wire.codes import ERROR_CODES, ERROR_NAMES, INVALID_REQUEST, PUSH_CONFIG, UNSUPPORTED_VERSION
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import REQUEST_HEAD, Treatment
from clientscope.wire.messages import PushConfigResponse
from clientscope.wire.push_config import read_configs

_HEADER_ROOM = 36_000
"""The most that a header adds to a push: client.id is an int16 string, and a tag section is not longer than the rest."""


def wants(state: SessionState, head: bytes) -> Treatment:
    """Without a policy it goes upstream like any unknown key; one whose frame alone says that it is too large is not kept."""
    if not state.push_config:
        return Treatment.PASS
    return Treatment.READ if _has_room(state, head) else Treatment.DISCARD


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client pushes."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    if not _has_room(state, frame):
        return _take(state, correlation_id, (), "too_large", _refusal(_too_large(state)))
    if version != 0:
        return _take(state, correlation_id, (), "unsupported_version", Verdict(UNSUPPORTED_VERSION, "PushConfig has version 0 alone"))
    try:
        cursor = Cursor(frame, REQUEST_HEAD.size)
        cursor.nullable_string()
        cursor.tags()
        if len(body := frame[cursor.position :]) > state.config_max_bytes:
            raise _too_large(state)
        configs = tuple(ClientConfig(*entry) for entry in read_configs(body))
    except WireError as error:
        return _take(state, correlation_id, (), error.reason, Verdict(INVALID_REQUEST, f"the request can't be read: {error.reason}"))
    except ClientConfigTooLargeException as error:
        return _take(state, correlation_id, (), "too_large", _refusal(error))
    return _take(state, correlation_id, configs)


def response(state: SessionState, push: Pushed, _: bytes) -> list[Command]:
    """The carrier has come back: the push's turn."""
    if push.refused is not None:
        return _answer(push, push.refused)
    state.awaited = push
    return [push]


def answer(state: SessionState, token: int, verdict: Verdict) -> list[Command]:
    """The policy has spoken, or time is up; only the first verdict counts."""
    push = state.awaited
    if push is None or push.token != token:
        return []
    state.awaited = None
    return _answer(push, verdict)


def _has_room(state: SessionState, head: bytes) -> bool:
    return bool(REQUEST_HEAD.unpack_from(head)[0] <= state.config_max_bytes + _HEADER_ROOM)


def _too_large(state: SessionState) -> ClientConfigTooLargeException:
    return ClientConfigTooLargeException(f"larger than client.config.max.bytes={state.config_max_bytes}")


def _refusal(error: ClientConfigTooLargeException) -> Verdict:
    return Verdict(ERROR_CODES[type(error)], str(error))


def _take(
    state: SessionState, correlation_id: int, configs: tuple[ClientConfig, ...], reason: str = "", refused: Verdict | None = None
) -> list[Command]:
    if not state.authenticated:
        raise WireError("unauthenticated_push")
    state.tokens += 1
    push = Pushed(state.tokens, configs, correlation_id, now_ms(), refused)
    counted: list[Command] = [Counted("pushes_refused", reason)] if refused is not None else []
    return [*counted, state.carrier(correlation_id, HANDLER, push)]


def _answer(push: Pushed, verdict: Verdict) -> list[Command]:
    message = PushConfigResponse(
        version=0, throttle_time_ms=verdict.throttle_time_ms, error_code=verdict.error_code, error_message=verdict.error_message
    )
    message.with_header(correlation_id=push.correlation_id)
    outcome = Counted("pushes_answered", ERROR_NAMES.get(verdict.error_code, "unknown_server_error"))
    return [outcome, ToClient(bytes(message.encode(header=True, framed=True)))]


HANDLER = Handler(PUSH_CONFIG, None, wants, request, response)
