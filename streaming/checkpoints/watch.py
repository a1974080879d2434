"""While queries run: whether their topics are still those that they have read.

Spark's Kafka source knows a topic by its name.  One that is deleted and made again it reads on from the old offset, as soon as there is
one, without a word.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from clientscope.errors import ClientscopeError, EnvironmentProblem
from streaming.checkpoints.broker import Broker
from streaming.checkpoints.manifest import Refused, SeenTopic
from streaming.checkpoints.offsets import Offsets, beyond
from streaming.checkpoints.plans import PLANS

log = logging.getLogger(__name__)

EVERY_S = 5.0


class TopicWatch:
    """Asks Kafka every five seconds, in a thread of its own, so that nobody waits for a broker that doesn't answer.

    Args:
        topics: as the queries have begun to read them.
        ask: what Kafka says of them now; used in that thread alone.
        examine: looks at one query's checkpoint, and raises Refused where it can't be gone on with.
    """

    def __init__(self, topics: Mapping[str, SeenTopic], ask: Callable[[], Broker], examine: Callable[[str], None]) -> None:
        self._topics, self._ask, self._examine = topics, ask, examine
        self._read: dict[str, Offsets] = {}
        self._cut: set[str] = set()
        self._refused: Refused | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)

    def start(self) -> None:
        """Begins to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Asks no more; returns at once."""
        self._stopped.set()

    def read(self, query: str, offsets: Offsets) -> None:
        """Up to where a query has read."""
        self._read[query] = offsets

    def check(self) -> None:
        """To be called every second.

        Raises:
            Refused: a query reads what is not its topic any more; says what is lost, and what to do.
        """
        if self._refused is not None:
            raise self._refused

    def look(self) -> None:
        """One look; what is found, `check` raises."""
        try:
            said = self._ask()
        except EnvironmentProblem:  # a topic that is gone, or a broker: their queries fail, and are told so when they start again
            self._cut.clear()
            return
        cut = {query for query, offsets in list(self._read.items()) if beyond(offsets, said.extents)}
        for query in PLANS:
            # An end that goes back may be a leader's that has just begun: only one that stays back is cut.
            if self._is_another(PLANS[query].topic, said) or query in cut & self._cut:
                try:
                    self._examine(query)
                except Refused as refused:
                    self._refused = refused
                    return
                except ClientscopeError:
                    continue
        self._cut = cut

    def _is_another(self, topic: str, said: Broker) -> bool:
        before, now = self._topics[topic].topic_id, said.topics[topic].topic_id
        return before is not None and now is not None and before != now

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S) and self._refused is None:
            try:
                self.look()
            except Exception:  # it is a look more or less; the queries go on
                log.exception("whether topics are still the same could not be seen")
