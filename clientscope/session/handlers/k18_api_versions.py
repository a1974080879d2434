"""ApiVersions (key 18): the client's software, and PushConfig and telemetry among the APIs that the broker advertises.

KIP-35, KIP-511, KIP-1313, and KIP-1324's ClientInstanceId as tagged field 1324.

Behavior:
- The request goes upstream without our tagged field and with another correlation id; the broker validates name and version.
- The broker's answer decides: without an error, the identity is what the client sent (v0 to v2 send nothing: unknown); UNSUPPORTED_VERSION
  makes it unknown; INVALID_REQUEST leaves it. So the identity here is the broker's own, as its JMX shows it.
- A request without a client.id leaves the one that is known (KIP-1313).
- The answer gets PushConfig's range if there is a policy, and keeps all else, key 18's range included.
- Where telemetry is asked for and the broker takes none, the answer to a client that survives it gets the two keys of KIP-714. The
  client's name and version are known before that, so all others see the same bytes as without.
- Where the gateway rewrites addresses, the answer has no version whose answers it doesn't know. A request of a version of key 18 that it
  doesn't know is answered by the broker as one of a version that no broker has.
- A request that can't be read is counted. It and its answer pass unchanged except for the correlation id, and the client is unknown once
  the broker has answered. An answer that can't be read is counted and passes unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from sys import intern

from clientscope.errors import WireError
from clientscope.session.addresses import limit
from clientscope.session.handler import Handler, always
from clientscope.session.state import UNKNOWN, Command, Counted, Identified, Identity, SessionState, ToClient
from clientscope.session.telemetry import survives
from clientscope.wire import api_versions
from clientscope.wire.codes import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    INVALID_REQUEST,
    NONE,
    PUSH_CONFIG,
    PUSH_TELEMETRY,
    UNSUPPORTED_VERSION,
)
from clientscope.wire.frames import REQUEST_HEAD

NEWEST = 5
"""The newest version whose answer is known."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose answer decides what it changed.

    Attributes:
        identity: what it says; None where it could not be read.
    """

    api_version: int
    identity: Identity | None


def request(state: SessionState, frame: bytes) -> list[Command]:
    """The client asks."""
    _, _, api_version, _ = REQUEST_HEAD.unpack_from(frame)
    if state.addresses is not None and api_version > NEWEST:
        frame = api_versions.as_unsupported(frame)
    try:
        said = api_versions.read_request(frame)
    except WireError as error:
        state.sent_api_versions(None)
        return [Counted("unreadable_frames", f"api_versions_{error.reason}"), state.forward(frame, HANDLER, _Asked(api_version, None))]
    # Thousands of connections say the same: each string is held once, for as long as one of them is open.
    name, version = intern(said.software_name or UNKNOWN), intern(said.software_version or UNKNOWN)
    identity = Identity(said.client_id and intern(said.client_id), name, version, said.instance_id)
    state.sent_api_versions(said.upstream)
    return [state.forward(said.upstream, HANDLER, _Asked(api_version, identity))]


def response(state: SessionState, asked: _Asked, frame: bytes) -> list[Command]:
    """The broker answers."""
    try:
        code = api_versions.error_code(frame)
        if code == NONE:
            state.served.learn(frame, asked.api_version)
            state.telemetry_offered = _offers_telemetry(state, asked.identity)
            push_config = (PUSH_CONFIG,) if state.push_config and asked.identity is not None else ()
            telemetry = (GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY) if state.telemetry_offered else ()
            frame = api_versions.advertise(frame, asked.api_version, *push_config, *telemetry)
    except WireError:
        if state.addresses is not None:
            raise
        return [Counted("unreadable_frames", "api_versions_response"), ToClient(frame)]
    if state.addresses is not None and code in (NONE, UNSUPPORTED_VERSION):
        frame = limit(frame, asked.api_version if code == NONE else 0, state.push_config)
    identity = _after(state.identity, asked.identity, code)
    changed: list[Command] = [Identified(identity)] if identity != state.identity else []
    if code == UNSUPPORTED_VERSION:
        changed.append(Counted("requests_unserved", "unsupported_version"))
    state.identity = identity
    return [*changed, ToClient(frame)]


def _offers_telemetry(state: SessionState, said: Identity | None) -> bool:
    """Whether the gateway takes telemetry in place of the broker; what a client was offered, it may use until the connection ends."""
    if state.telemetry is None or said is None or not survives(said.software_name, said.software_version):
        return state.telemetry_offered
    return state.telemetry_offered or not state.served.takes_telemetry


def _after(before: Identity, said: Identity | None, code: int) -> Identity:
    if said is None:
        return before if code == INVALID_REQUEST else replace(before, software_name=UNKNOWN, software_version=UNKNOWN)
    # Nor does one without a client.id take the name away (KIP-1313).
    client_id = said.client_id or before.client_id or said.client_id
    if code == NONE:
        # An instance keeps its id: a later ApiVersions without it, as a SASL authenticator sends, doesn't take it away.
        name, version, instance_id = said.software_name, said.software_version, said.instance_id or before.instance_id
        return replace(before, client_id=client_id, software_name=name, software_version=version, instance_id=instance_id)
    if code == INVALID_REQUEST:
        return replace(before, client_id=client_id)
    return replace(before, client_id=client_id, software_name=UNKNOWN, software_version=UNKNOWN)


HANDLER = Handler(API_VERSIONS, None, always, request, response)
