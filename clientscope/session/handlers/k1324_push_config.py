"""PushConfig (key 1324): the client says how it is configured.

KIP-1324; the holes in it are closed as the project's specs say ("Numbers", "Holes in KIP-1324").

Behavior:
- The raw size is checked before anything is decoded: CONFIG_TOO_LARGE.
- A body that isn't exactly one request, no settings at all, an empty key, or a type outside 0 to 8: INVALID_REQUEST.
- A version other than 0: UNSUPPORTED_VERSION.
- All others go to the policy; its verdict is the answer.
- Each is answered in its turn, by a carrier (see state.py).
"""

from __future__ import annotations

from clientscope.errors import WireError
from clientscope.policy.interface import ClientConfig
from clientscope.session.state import AwaitAnswer, Command, Counted, PendingPush, Pushed, SessionState, ToBroker, ToClient, Verdict
from clientscope.wire import api_versions
from clientscope.wire.frames import LENGTH, REQUEST_HEAD
from clientscope.wire.messages import PushConfigRequest, PushConfigResponse
from clientscope.wire.numbers import CONFIG_TOO_LARGE, INVALID_REQUEST, UNSUPPORTED_VERSION
from clientscope.wire.strict import decode_body

_FIRST_CARRIER_ID = -(1324 << 20)
_HIGHEST_TYPE = 8


def too_large(state: SessionState, head: bytes) -> list[Command]:
    """A push whose frame alone says that it is too large; its bytes are thrown away as they come."""
    _, _, _, correlation_id = REQUEST_HEAD.unpack_from(head)
    push = _take(state, correlation_id, None)
    push.verdict = _too_large_verdict(state)
    return [Counted("pushes_refused", "too_large"), _carrier(state, push)]


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client pushes."""
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    client_id = None
    configs: tuple[ClientConfig, ...] = ()
    verdict: Verdict | None = None
    reason = ""
    try:
        cursor = api_versions.Cursor(frame, REQUEST_HEAD.size)
        client_id = cursor.nullable_string()
        if version != 0:
            verdict, reason = Verdict(UNSUPPORTED_VERSION, "PushConfig has version 0 alone"), "unsupported_version"
        else:
            cursor.tags()
            body = frame[cursor.position :]
            if len(body) > state.config_max_bytes:
                verdict, reason = _too_large_verdict(state), "too_large"
            else:
                configs = _decode(body)
    except WireError as error:
        verdict, reason = Verdict(INVALID_REQUEST, f"the request can't be read: {error.reason}"), error.reason
    push = _take(state, correlation_id, verdict)
    carrier = _carrier(state, push, client_id)
    if verdict is not None:
        return [Counted("pushes_refused", reason), carrier]
    state.waiting[push.token] = push
    return [carrier, Pushed(push.token, configs)]


def response(state: SessionState, push: PendingPush) -> list[Command]:
    """The carrier has come back: the push's turn."""
    if push.verdict is None:
        state.awaited = push.token
        return [AwaitAnswer(push.token)]
    return [_answer(push)]


def answer(state: SessionState, token: int, verdict: Verdict) -> list[Command]:
    """The policy has spoken, or time is up; only the first verdict counts."""
    push = state.waiting.pop(token, None)
    if push is None:
        return []
    push.verdict = verdict
    if state.awaited != token:
        return []
    state.awaited = None
    return [_answer(push)]


def _decode(body: bytes) -> tuple[ClientConfig, ...]:
    message = decode_body(PushConfigRequest, body, 0)
    if not message.configs:
        raise WireError("no_configs")
    for config in message.configs:
        if not config.config_key:
            raise WireError("empty_key")
        if not 0 <= config.config_type <= _HIGHEST_TYPE:
            raise WireError("bad_type")
    return tuple(ClientConfig(c.config_key, c.config_value, c.config_type, bool(c.is_default)) for c in message.configs)


def _too_large_verdict(state: SessionState) -> Verdict:
    return Verdict(CONFIG_TOO_LARGE, f"larger than client.config.max.bytes={state.config_max_bytes}")


def _take(state: SessionState, correlation_id: int, verdict: Verdict | None) -> PendingPush:
    state.tokens += 1
    return PendingPush(state.tokens, correlation_id, verdict)


def _carrier(state: SessionState, push: PendingPush, client_id: str | None = None) -> ToBroker:
    # Clients count up from 0 or 1, so a very negative id isn't under way; theirs alone would do, but they may use one again.
    carrier_id = _FIRST_CARRIER_ID - push.token
    state.pending[carrier_id] = push
    if state.last_api_versions is None:
        return ToBroker(api_versions.plain_request(carrier_id, client_id))
    return ToBroker(api_versions.with_correlation_id(state.last_api_versions, carrier_id))


def _answer(push: PendingPush) -> ToClient:
    assert push.verdict is not None
    message = PushConfigResponse(
        version=0,
        throttle_time_ms=push.verdict.throttle_time_ms,
        error_code=push.verdict.error_code,
        error_message=push.verdict.error_message,
    )
    message.with_header(correlation_id=push.correlation_id)
    body = message.encode(header=True)
    return ToClient(LENGTH.pack(len(body)) + body)
