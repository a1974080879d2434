"""What a client says of itself that a gateway or a broker refuses: a secret (KIP-1324), and a name (KIP-511)."""

from __future__ import annotations

import functools
import uuid
from typing import Any

import kafka
import pytest
from observe import configurations, settings_of
from patience import until

from clientscope.catalog.configs import Type
from clientscope.client import KafkaAdminClient
from clientscope.client.raw import RawClient
from clientscope.wire.codes import INVALID_CONFIG, NONE


def test_a_careless_clients_secret_is_refused_and_redacted(broker: Any, gateway: Any) -> None:
    instance_id = uuid.uuid4()
    secret = 'PlainLoginModule required username="u" password="hunter2-of-this-test";'
    with RawClient.connect(gateway.address, "careless") as client:
        client.api_versions("careless-client", "0.1.0", instance_id)
        answer = client.push_config([("acks", "all", Type.STRING, True), ("sasl.jaas.config", secret, Type.PASSWORD, False)])
        (record,) = until(lambda: configurations(broker.internal, client_instance_id=instance_id))
        assert client.api_versions("careless-client", "0.1.0", instance_id).error_code == NONE, "the connection goes on"
    assert answer.error_code == INVALID_CONFIG
    assert "sasl.jaas.config" in answer.error_message
    assert "hunter2" not in answer.error_message
    assert settings_of(record) == {"acks": "all", "sasl.jaas.config": None}
    assert record.listed()[1].redacted.reason == "key_prefix"


class Named(KafkaAdminClient):
    """A client that says another name."""

    software: dict[str, str]

    def _prepare(self, *arguments: Any) -> dict[str, Any]:
        configs = super()._prepare(*arguments)
        return {**configs, "kafka_client": functools.partial(configs["kafka_client"], **self.software)}


@pytest.mark.parametrize("through", ["broker", "gateway"])
@pytest.mark.parametrize(
    ("name", "version", "cause"),
    [
        ("bad name", "1.0", "client_software_name 'bad name':"),
        ("good", "1.0-", "client_software_version '1.0-':"),
    ],
)
def test_kip_511_a_name_that_a_broker_refuses_ends_the_client_and_is_named(
    broker: Any, gateway: Any, through: str, name: str, version: str, cause: str
) -> None:
    address = broker.internal if through == "broker" else gateway.address
    Named.software = {"client_software_name": name, "client_software_version": version}
    with pytest.raises(kafka.errors.InvalidRequestError) as raised:
        Named(bootstrap_servers=address)
    assert cause in str(raised.value)
