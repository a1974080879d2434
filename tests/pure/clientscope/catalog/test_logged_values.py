"""Which settings of a Java client's log are known to be wrong."""

from __future__ import annotations

import pytest

from clientscope.catalog.configs import ClientType
from clientscope.logs.client_logs import wrongly_logged


@pytest.mark.parametrize(
    ("client_type", "release", "keys"),
    [
        (ClientType.PRODUCER, (2, 4, 1), {"acks", "client.id", "enable.idempotence", "retries"}),
        (ClientType.PRODUCER, (2, 5, 0), set()),
        (ClientType.CONSUMER, (2, 5, 1), {"client.id", "enable.auto.commit"}),
        (ClientType.CONSUMER, (2, 6, 0), {"enable.auto.commit"}),
        (ClientType.CONSUMER, (3, 6, 2), {"enable.auto.commit"}),
        (ClientType.CONSUMER, (3, 7, 0), set()),
        (ClientType.ADMIN, (4, 4, 0), {"client.id"}),
        (ClientType.ADMIN, (), {"client.id"}),
        (ClientType.PRODUCER, (), set()),
        (ClientType.STREAMS, (2, 1, 0), set()),
    ],
)
def test_up_to_the_release_that_corrects_it(client_type: ClientType, release: tuple[int, ...], keys: set[str]) -> None:
    assert wrongly_logged(client_type, release) == keys
