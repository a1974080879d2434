"""Creation of kafka-python's clients.

What of kafka-python 3.0.12 is worked around:

- Where no broker answers, the constructors of consumer, admin client and producer raise, and leave a thread and four descriptors behind: a
  process that retries for a day runs out of both. All three make their connections by ``kafka_client`` (consumer/group.py:418,
  admin/client.py, producer/kafka.py:524), and none closes it then. To be removed once they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka.net.compat import KafkaNetClient

C = TypeVar("C")


def bootstrapped(cls: Callable[..., C], **arguments: Any) -> C:
    """A client of this class.

    Raises:
        KafkaError, OSError, ValueError: no broker answers, or an argument is wrong; nothing is left open.
    """
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
