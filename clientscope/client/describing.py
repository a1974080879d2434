"""``describe_cluster()`` with the software of the answering broker (KIP-885)."""

from __future__ import annotations

from typing import Any

import kafka
from kafka.errors import IncompatibleBrokerVersion, for_code
from kafka.protocol.admin import DescribeClusterRequest

from clientscope.wire.codes import NONE
from clientscope.wire.describe_cluster import BrokerSoftware, software_of

_NOT_OF_THE_CLUSTER = ("error_code", "error_message", "endpoint_type", "throttle_time_ms")


class Describing(kafka.KafkaAdminClient):
    """Its answer is kafka-python's, and has ``broker_software_name`` and ``broker_software_version`` beside that.

    Both are None if the broker doesn't send them: a real one sends them only behind a gateway.
    """

    async def _describe_cluster(self) -> dict[str, Any]:
        # kafka-python's own raises KeyError on what brokers from 2.8 to 3.6 answer: version 0 has no endpoint_type.
        software = BrokerSoftware(None, None)
        try:
            request = DescribeClusterRequest(include_cluster_authorized_operations=True, include_fenced_brokers=True)
            response = await self._manager.send(request)
        except IncompatibleBrokerVersion:  # before 2.8
            described = await super()._describe_cluster()
        else:
            if response.error_code != NONE:
                raise for_code(response.error_code)(response.error_message)
            software = software_of(response)
            described = {name: value for name, value in response.to_dict().items() if name not in _NOT_OF_THE_CLUSTER}
            self._process_acl_operations(described)
        return {**described, "broker_software_name": software.name, "broker_software_version": software.version}
