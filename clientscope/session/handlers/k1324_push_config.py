"""PushConfig (key 1324): a client's configuration.

KIP-1324; the holes in it are closed as the project's specs say ("Numbers", "Holes in KIP-1324").

Behavior:
- The raw size is checked before anything is decoded: CONFIG_TOO_LARGE.
- A body that isn't exactly one request, no settings at all, more than 512, an empty key, a key that is there twice, or a type outside
  0 to 8: INVALID_REQUEST.
- A version other than 0: UNSUPPORTED_VERSION.
- Before SASL authentication has succeeded, on a listener that asks for it: the connection is closed, as by Kafka's SaslServerAuthenticator.
- All others go to the policy when their turn has come, and its answer is handed on.
- Each has its turn by a carrier (see state.py), so the client's identity is settled: an earlier ApiVersions has been answered.
"""

from __future__ import annotations

from clientscope.clock import now_ms
from clientscope.errors import ClientConfigTooLargeException, WireError
from clientscope.policy.interface import ClientConfig
from clientscope.session.handler import Handler
from clientscope.session.state import Command, Counted, PushAnswer, Pushed, SessionState, ToClient
from clientscope.wire.codes import ERROR_CODES, ERROR_NAMES, INVALID_REQUEST, PUSH_CONFIG, UNSUPPORTED_VERSION
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import REQUEST_HEAD, Treatment
from clientscope.wire.messages import PushConfigResponse

# Parser of PushConfig's request body, v0 (KIP-1324), in one pass over its bytes.
#
# kafka-python's engine takes four times as long, in the event loop that carries all clients' bytes. A test compares what it
# reads with that engine.

MOST_CONFIGS = 512
"""Settings in one push; no client library has more than some 200."""
_HIGHEST_TYPE = 8

Entry = tuple[str, str, int, bool]
"""Key, value, type (an ordinal of Kafka's ConfigDef.Type, 0 to 8) and whether it is the default."""


def read_configs(body: bytes) -> list[Entry]:
    """The settings of a request, in the order sent.

    Args:
        body: all that follows the request's header.

    Raises:
        WireError: ``truncated``, ``bad_varint``, ``bad_utf8``, ``null``, ``too_many_tags`` or ``trailing_bytes``: it is no such request;
            ``no_configs``, ``too_many_configs``, ``empty_key``, ``bad_type`` or ``duplicate_key``: it is one that no client sends.
    """
    cursor = Cursor(body)
    count = cursor.compact_count()
    if count < 0:
        raise WireError("null")
    if count == 0:
        raise WireError("no_configs")
    if count > MOST_CONFIGS:
        raise WireError("too_many_configs", str(count))
    entries = [_entry(cursor) for _ in range(count)]
    cursor.tags()
    if cursor.position != len(body):
        raise WireError("trailing_bytes")
    if len({key for key, *_ in entries}) != count:  # which of its values counts, each reader would say for itself
        raise WireError("duplicate_key")
    return entries


def _entry(cursor: Cursor) -> Entry:
    key, value = _text(cursor), _text(cursor)
    kind, is_default = cursor.take(2)
    cursor.tags()
    if not key:
        raise WireError("empty_key")
    if kind > _HIGHEST_TYPE:  # an int8 below zero is above as a byte
        raise WireError("bad_type")
    return key, value, kind, bool(is_default)


def _text(cursor: Cursor) -> str:
    """A compact string; most are shorter than 127 bytes, whose length is one byte."""
    data, at = cursor.data, cursor.position
    if at < len(data) and 0 < (length := data[at]) < 0x80 and at + length <= len(data):
        cursor.position = at + length
        try:
            return data[at + 1 : at + length].decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("bad_utf8") from None
    return cursor.compact_string()


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
        return _take(state, correlation_id, (), "unsupported_version", PushAnswer(UNSUPPORTED_VERSION, "PushConfig has version 0 alone"))
    try:
        cursor = Cursor(frame, REQUEST_HEAD.size)
        cursor.nullable_string()
        cursor.tags()
        if len(body := frame[cursor.position :]) > state.config_max_bytes:
            raise _too_large(state)
        configs = tuple(ClientConfig(*entry) for entry in read_configs(body))
    except WireError as error:
        return _take(state, correlation_id, (), error.reason, PushAnswer(INVALID_REQUEST, f"the request can't be read: {error.reason}"))
    except ClientConfigTooLargeException as error:
        return _take(state, correlation_id, (), "too_large", _refusal(error))
    return _take(state, correlation_id, configs)


def response(state: SessionState, push: Pushed, _: bytes) -> list[Command]:
    """The carrier has come back: the push's turn."""
    if push.refused is not None:
        return _answer(push, push.refused)
    state.awaited = push
    return [push]


def answer(state: SessionState, token: int, answer: PushAnswer) -> list[Command]:
    """The policy has spoken, or time is up; only the first answer counts."""
    push = state.awaited
    if push is None or push.token != token:
        return []
    state.awaited = None
    return _answer(push, answer)


def _has_room(state: SessionState, head: bytes) -> bool:
    return bool(REQUEST_HEAD.unpack_from(head)[0] <= state.config_max_bytes + _HEADER_ROOM)


def _too_large(state: SessionState) -> ClientConfigTooLargeException:
    return ClientConfigTooLargeException(f"larger than client.config.max.bytes={state.config_max_bytes}")


def _refusal(error: ClientConfigTooLargeException) -> PushAnswer:
    return PushAnswer(ERROR_CODES[type(error)], str(error))


def _take(
    state: SessionState, correlation_id: int, configs: tuple[ClientConfig, ...], reason: str = "", refused: PushAnswer | None = None
) -> list[Command]:
    if not state.authenticated:
        raise WireError("unauthenticated_push")
    state.tokens += 1
    push = Pushed(state.tokens, configs, correlation_id, now_ms(), refused)
    counted: list[Command] = [Counted("pushes_refused", reason)] if refused is not None else []
    return [*counted, state.carrier(correlation_id, HANDLER, push)]


def _answer(push: Pushed, answer: PushAnswer) -> list[Command]:
    message = PushConfigResponse(
        version=0, throttle_time_ms=answer.throttle_time_ms, error_code=answer.error_code, error_message=answer.error_message
    )
    message.with_header(correlation_id=push.correlation_id)
    outcome = Counted("pushes_answered", ERROR_NAMES.get(answer.error_code, "unknown_server_error"))
    return [outcome, ToClient(bytes(message.encode(header=True, framed=True)))]


HANDLER = Handler(PUSH_CONFIG, None, wants, request, response)
