"""Creation of kafka-python's clients.

What of kafka-python 3.0.12 is worked around:

- Where no broker answers, the constructors of consumer, admin client and producer raise, and leave a thread and four descriptors behind: a
  process that retries for a day runs out of both. All three make their connections by ``kafka_client`` (consumer/group.py:418,
  admin/client.py, producer/kafka.py:524), and none closes it then. To be removed once they do.
- Where all brokers refuse connections, it tries again until ``bootstrap_timeout_ms`` is over (net/manager.py, ``_do_bootstrap``), half a
  minute by default: `require_listener` looks first. To be removed once a refusal everywhere is an error.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kafka.cluster import collect_hosts
from kafka.errors import KafkaConnectionError
from kafka.net.compat import KafkaNetClient

C = TypeVar("C")

_CONNECT_S = 1.0
"""How long a server has to refuse."""


def bootstrapped(cls: Callable[..., C], **arguments: Any) -> C:
    """A client of this class.

    Raises:
        KafkaError, OSError, ValueError: no broker answers, or an argument is wrong; nothing is left open. At once where nobody listens.
    """
    require_listener(arguments["bootstrap_servers"])
    made: list[KafkaNetClient] = []

    def connections(**config: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**config))
        return made[-1]

    try:
        return cls(**arguments, kafka_client=connections)
    except BaseException:
        for each in made:
            each.close()
        raise


def require_listener(bootstrap_servers: str | Sequence[str]) -> None:
    """Returns at the first server that takes a connection; also at one that is silent, which is left to kafka-python and its timeout.

    Raises:
        KafkaConnectionError: each server refuses connections, or its name has no address.
    """
    reasons = []
    for host, port, _ in collect_hosts(bootstrap_servers, randomize=False):
        try:
            socket.create_connection((host, port), _CONNECT_S).close()
        except ConnectionRefusedError:
            reasons.append(f"{host}:{port} refuses connections")
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:  # the name server may answer later
                return
            reasons.append(f"{host} has no address")
        except OSError:
            return
        else:
            return
    raise KafkaConnectionError("; ".join(reasons))
