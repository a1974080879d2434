"""Watch over running queries' topics: whether each is still the topic that the query has read.

Spark's Kafka source knows a topic by its name.  One that is deleted and made again it reads on from the old offset, as soon as there is
one, without a word.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from clientscope.errors import EnvironmentProblem
from streaming.checkpoints.broker import TopicsNow

log = logging.getLogger(__name__)

EVERY_S = 5.0


class TopicWatch:
    """Asks Kafka every five seconds, in a thread of its own, so that nothing else waits for a broker that doesn't answer.

    Args:
        ask: asks Kafka for the topics' current state; used in that thread alone.
        stale: says which queries have to begin anew, given that, and whether their topic is another one.
        refused: called with each of them and that, until it has.
        back: called when Kafka answers again after it didn't.

    Attributes:
        away: why Kafka doesn't answer, or which topic is missing, and what to do; empty where all is well.
    """

    def __init__(
        self,
        ask: Callable[[], TopicsNow],
        stale: Callable[[TopicsNow], Mapping[str, bool]],
        refused: Callable[[str, bool], None],
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._ask, self._stale, self._refused, self._back = ask, stale, refused, back
        self.away = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)

    def start(self) -> None:
        """Begins to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Asks no more; returns at once."""
        self._stopped.set()

    def look(self) -> None:
        """One look."""
        try:
            now = self._ask()
        except EnvironmentProblem as problem:
            # A topic or a broker is away: its queries fail, and hear why when they are started again.
            self.away = f"{problem}; {problem.hint}" if problem.hint else str(problem)
            return
        if self.away:
            self.away = ""
            self._back()
        for query, is_another in self._stale(now).items():
            self._refused(query, is_another)

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            try:
                self.look()
            except Exception:  # one check is missed; the queries keep running
                log.exception("whether topics are still the same could not be seen")
