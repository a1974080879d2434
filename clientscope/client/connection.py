"""The handshake inside kafka-python 3's network layer, by the ``kafka_client`` setting that its three clients offer.

Nothing is patched: a connection manager of ours is handed to kafka-python's own `KafkaNetClient`, and makes each of its
connections one that says its ClientInstanceId in ApiVersions and takes its turn at pushing before it is ready.
"""

from __future__ import annotations

import time
from typing import Any

import kafka.errors
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol import metadata

from clientscope.client.handshake import Handshake, log
from clientscope.wire.codes import NONE, PUSH_CONFIG
from clientscope.wire.messages import ApiVersionsRequest, PushConfigResponse


def net_client(handshake: Handshake, **configs: Any) -> KafkaNetClient:
    """What kafka-python's clients make of their ``kafka_client`` setting, with the handshake in it."""
    net = NetworkSelector(**configs)
    return KafkaNetClient(net=net, manager=_Manager(net, handshake, **configs), **configs)


class _Manager(KafkaConnectionManager):
    def __init__(self, net: NetworkSelector, handshake: Handshake, **configs: Any) -> None:
        super().__init__(net, **configs)
        self.handshake = handshake

    async def _connect(self, node: Any, conn: KafkaConnection, **kwargs: Any) -> None:
        # get_connection() names its connection class itself, so the object that it made changes class before it is started.
        conn.__class__ = _Connection
        conn.manager = self
        await super()._connect(node, conn, **kwargs)


class _Connection(KafkaConnection):
    manager: _Manager
    advertised = False
    """Whether this very node advertises PushConfig.  ``broker_version_data`` can't tell: it may be the bootstrap node's."""

    async def initialize(self, timeout_at: float | None = None) -> None:
        # KafkaConnection.initialize, with the push at the one point where the connection is authenticated and the user's
        # requests still wait.  Not in _sasl_authenticate, which re-authentication runs again.
        if timeout_at is None:
            timeout_at = self._timeout_at()
        try:
            await self._get_api_versions(timeout_at)
            if self.sasl_enabled:
                await self._sasl_authenticate(timeout_at)
            await self._push(timeout_at)
        except Exception as error:
            self.close(error)
        else:
            self._init_complete()

    def _send_request(self, request: Any, future: Future | None = None, timeout_at: float | None = None) -> Future:
        if not isinstance(request, metadata.ApiVersionsRequest):
            return super()._send_request(request, future=future, timeout_at=timeout_at)
        identified = ApiVersionsRequest(
            version=request.API_VERSION,
            min_version=request._min_version,
            max_version=request._max_version,
            client_software_name=request.client_software_name,
            client_software_version=request.client_software_version,
            client_instance_id=self.manager.handshake.client_instance_id,
        )
        return super()._send_request(identified, future=future, timeout_at=timeout_at).add_callback(self._see_api_versions)

    def _see_api_versions(self, response: metadata.ApiVersionsResponse) -> None:
        if response.error_code == NONE:
            self.advertised = any(key.api_key == PUSH_CONFIG and key.min_version == 0 for key in response.api_keys)

    def _maybe_throttle(self, response: Any) -> None:
        # A throttled push is for the handshake to wait out: the user's requests need not.
        if not isinstance(response, PushConfigResponse):
            super()._maybe_throttle(response)

    async def _push(self, timeout_at: float) -> None:
        """Best effort: whatever happens, the connection's start goes on.

        It takes half of the time that the connection has left to be ready, so that the user's first request is never too late
        because of it.  What is to be tried again after that is tried on the client's next connection.
        """
        if not self.advertised:
            return
        handshake = self.manager.handshake
        until = (time.monotonic() + timeout_at) / 2
        try:
            while request := handshake.request(time.monotonic()):
                # No timeout_at: an unanswered push must not close the connection before other requests would.
                answer = self._send_request(request)
                response = await self.manager.wait_for(answer, (until - time.monotonic()) * 1000)
                delay = handshake.answered(response, time.monotonic())
                if delay is None or time.monotonic() + delay > until:
                    break
                await self.net.sleep(delay)
        except kafka.errors.KafkaTimeoutError:
            handshake.give_up("no answer came in time")
        except kafka.errors.KafkaError as error:
            handshake.lost(type(error).__name__)
        except Exception as error:
            log.debug("handshake", exc_info=True)
            handshake.give_up(type(error).__name__)
