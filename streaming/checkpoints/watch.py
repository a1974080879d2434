"""Watch over running queries' topics: whether each is still the topic that the query has read.

Spark's Kafka source knows a topic by its name.  One that is deleted and made again it reads on from the old offset, as soon as there is
one, without a word.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from clientscope.errors import ClientscopeError, EnvironmentProblem
from streaming.checkpoints.broker import TopicsNow
from streaming.checkpoints.compare import RecordsLost
from streaming.checkpoints.manifest import Refused, SeenTopic
from streaming.checkpoints.offsets import Offsets, beyond
from streaming.checkpoints.plans import PLANS

log = logging.getLogger(__name__)

EVERY_S = 5.0


class TopicWatch:
    """Asks Kafka every five seconds, in a thread of its own, so that nothing else waits for a broker that doesn't answer.

    Args:
        topics: as the queries have begun to read them.
        ask: asks Kafka for their current state; used in that thread alone.
        examine: looks at one query's checkpoint, and raises Refused where it can't be gone on with.
        refused: called once with each query that reads what is not its topic any more, and with what to do.
        back: called when Kafka answers again after it didn't.

    Attributes:
        away: why Kafka doesn't answer, or which topic is missing, and what to do; empty where all is well.
    """

    def __init__(
        self,
        topics: Mapping[str, SeenTopic],
        ask: Callable[[], TopicsNow],
        examine: Callable[[str], None],
        refused: Callable[[str, Refused], None],
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._topics, self._ask, self._examine, self._refused, self._back = topics, ask, examine, refused, back
        self._read: dict[str, Offsets] = {}
        self._cut: set[str] = set()
        self._known: set[str] = set()
        self.away = ""
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

    def look(self) -> None:
        """One look."""
        try:
            said = self._ask()
        except EnvironmentProblem as problem:
            # A topic or a broker is away: its queries fail, and hear why when they are started again.
            self._cut.clear()
            self.away = f"{problem}; {problem.hint}" if problem.hint else str(problem)
            return
        if self.away:
            self.away = ""
            self._back()
        cut = {query for query, offsets in list(self._read.items()) if query in PLANS and beyond(offsets, said.extents)}
        for query in [each for each, plan in PLANS.items() if plan.topic in self._topics and each not in self._known]:
            # An end that goes back may be a leader's that has just begun: only one that stays back is cut.
            if self._is_another(PLANS[query].topic, said) or query in cut & self._cut:
                try:
                    self._examine(query)
                except RecordsLost:
                    continue  # its query fails by itself
                except Refused as refused:
                    self._known.add(query)
                    self._refused(query, refused)
                except ClientscopeError:
                    continue
        self._cut = cut

    def _is_another(self, topic: str, said: TopicsNow) -> bool:
        before, now = self._topics[topic].topic_id, said.topics[topic].topic_id
        return before is not None and now is not None and before != now

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            try:
                self.look()
            except Exception:  # one check is missed; the queries keep running
                log.exception("whether topics are still the same could not be seen")
