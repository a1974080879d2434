"""The query ``live``: configurations and connections -> one pass -> ``clientscope.results`` and ``clientscope.inputs`` -> engines.

One source reads both topics, one pandas UDF decodes, redacts and judges (`udfs.kernels.live`), and Spark's own Kafka sink writes in the
task that judged. Nothing of it comes to the driver: there the engines of findings and gauges follow what was written, by a plain consumer.

Spark's sink writes at least once: after a failure the records of a batch come again. Engines take the newest of each by its place in the
source, so that changes nothing.

A start reads no push: results are compacted, one for each client, and count as long as what they follow from is the same
(`udfs.fingerprint`). Where it isn't, the query begins with the first configuration, and what it writes from then on counts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka.errors import KafkaError
from pyspark.sql import DataFrame

from clientscope.clock import now_ms
from clientscope.errors import RecordError
from clientscope.findings.conditions import Condition
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import clears_old_place
from clientscope.kafka.reader import Batches, OffsetRange, TopicReader
from clientscope.model.codec import decode
from clientscope.model.input import InputRecord
from clientscope.model.result import SOURCE_PLACE, ResultReader
from clientscope.model.topics import CONFIGS, CONNECTIONS, DECISIONS, FINDINGS, GAUGES, INPUTS, RESULTS, STATUS
from streaming import transforms
from streaming.checkpoints.topics_now import Offsets
from streaming.findings.inputs import EngineInput, Erased
from streaming.job_metrics import PASSED_OVER, JobMetrics
from streaming.publish_findings import FindingsPublisher
from streaming.publish_gauges import EndsAsked, GaugesPublisher
from streaming.queries.query import JobContext, JobQuery, source, start
from streaming.sources import sink_options
from streaming.spark import last_report, read_to
from streaming.supervision import Running
from udfs.fingerprint import fingerprint

log = logging.getLogger(__name__)

_INTERVAL_S = 0.2
"""Between batches. A batch costs the same however little has come, so one at once for each push costs more."""

# Not compressed: the topics' readers need no more than kafka-python then. It flushes at the end of each task, so lingering delays nothing;
# in a backlog it makes requests of hundreds of records instead of a few.
_LARGE_REQUESTS = {"kafka.linger.ms": "20", "kafka.batch.size": str(256 * 1024)}

FOLLOWED = (RESULTS, INPUTS)
"""What the query writes, and the engines take in."""

_AGAIN_MS = 10 * 60_000
"""So much of inputs the gauges take in again at each start: what was written while the process before had not taken it in yet."""

_POLL_S, _ANSWER_S = 1.0, 5.0

_LAGS_AT = 10_000
"""So many records that wait are said as a finding. At a hundred pushes a second it is more than a minute's."""
_SAID_EVERY_MS = 30_000


def passed(job: JobContext, records: DataFrame) -> DataFrame:
    """The query's step."""
    return transforms.live(records, job.digest_key, job.thresholds)


class Reported(NamedTuple):
    """What Spark has reported, which counts once the engines have taken in what came of it.

    Attributes:
        read_to: up to where the query has read.
        ends: where the topics ended then that it writes.
    """

    read_to: Offsets
    ends: Mapping[TopicPartition, int]


class LiveQuery(Running):
    """The query, the engines behind it, and the thread in which they follow it."""

    def __init__(self, job: JobContext) -> None:
        self._kafka = kafka = KafkaAccess.of(job.settings)
        self._reader = ResultReader()
        self._undecodable: Counter[str] = Counter()
        self._behind: dict[str, int] = {}
        self._failure: Exception | None = None
        self._conditions = job.conditions
        self._said_lag: tuple[bool, int] = (False, 0)
        self._reported: Reported | None = None
        with ExitStack() as opened:  # closed again where the rest fails
            verdicts = job.checkpoints.verdicts(fingerprint(job.thresholds, job.digest_key))
            self._findings = opened.enter_context(closing(FindingsPublisher(job)))
            self._follower = opened.enter_context(closing(TopicReader(kafka, "clientscope-stream")))
            there = self._follower.ranges(CONFIGS, CONNECTIONS, *FOLLOWED, since_ms={INPUTS: self._findings.since_ms})
            self._start: Mapping[TopicPartition, int] | None = {at: end for at, (_, end) in there.items() if at.topic not in FOLLOWED}
            self._inputs = {at: found for at, found in there.items() if at.topic == INPUTS}
            self._results = {
                at: OffsetRange(max(first, verdicts.get(at.partition, 0)), end) for at, (first, end) in there.items() if at.topic == RESULTS
            }
            again = self._follower.ranges(INPUTS, since_ms={INPUTS: now_ms() - _AGAIN_MS})
            self._gauges_from = {at.partition: first for at, (first, _) in again.items()}
            self._taken = {partition: first for partition, (first, _) in {**self._inputs, **self._results}.items()}
            self._ends = opened.enter_context(closing(TopicEnds(kafka, CONNECTIONS, *FOLLOWED)))
            self._gauges = opened.enter_context(closing(GaugesPublisher(kafka, job.conditions)))
            beginning = job.checkpoints.begin("live")
            rows = passed(job, _in_few_tasks(source(job, "live", beginning, with_keys=True)))
            writer = rows.writeStream.format("kafka").options(**sink_options(kafka), **_LARGE_REQUESTS)
            self.query = start(writer, "live", beginning.location, _INTERVAL_S)
            self._stopping = threading.Event()
            self._thread = threading.Thread(target=self._follow, name="engines", daemon=True)
            self._thread.start()
            self._opened = opened.pop_all()

    def tick(self) -> None:
        """Has the engines see that time passes.

        Raises:
            Exception: an engine can't go on.
        """
        if self._failure is not None:
            raise self._failure
        report = last_report(self.query)
        asked = self._ends.ask()
        if asked is not None:
            ends = {place: end for place, end in asked.ends.items() if place.topic in FOLLOWED}
            self._behind = {topic: sum(self._left(at, end) for at, end in ends.items() if at.topic == topic) for topic in FOLLOWED}
            if report is not None and self._reported is None:
                self._reported = Reported(read_to(report), ends)
        reached: Offsets = {}
        if self._reported is not None and not any(self._left(*each) for each in self._reported.ends.items()):
            reached, self._reported = self._reported.read_to, None
        if self._start is not None and all(reached.get(at, 0) >= end for at, end in self._start.items()):
            self._start = None
            self._findings.caught_up()
        self._gauges.tick(asked, {at.partition: offset for at, offset in reached.items() if at.topic == CONNECTIONS})
        self._findings.tick()

    def _left(self, partition: TopicPartition, end: int) -> int:
        return max(0, end - self._taken.get(partition, 0))

    def measure(self, metrics: JobMetrics) -> None:
        """How far the engines are behind, and what they keep."""
        for topic, number in self._behind.items():
            metrics.set("engine_lag_records", number, topic)
        self._say_lag((metrics.lag("live").records or 0) + sum(self._behind.values()), now_ms())
        self._gauges.measure(metrics)
        self._findings.measure(metrics)
        undecodable, self._undecodable = self._undecodable, Counter()
        for topic, number in undecodable.items():
            metrics.quarantined(topic, PASSED_OVER, number)

    def _say_lag(self, waiting: int, at_ms: int) -> None:
        lags, (lagged, said_ms) = waiting >= _LAGS_AT, self._said_lag
        if lags != lagged or (lags and at_ms - said_ms >= _SAID_EVERY_MS):
            self._said_lag = lags, at_ms
            says = f"Findings lag: some {waiting:,} records of {CONFIGS} and {CONNECTIONS} wait to be judged"
            advice = "a backlog is worked off in order; where it grows, give the job more cores."
            self._conditions.report(Condition("OP008", "the job's findings", lags, "medium", f"{says}: {advice}" if lags else "", at_ms))

    def close(self) -> None:
        """After the query has stopped."""
        self._stopping.set()
        self._thread.join(_ANSWER_S)
        self._opened.close()

    def _follow(self) -> None:
        try:
            self._follower.seek({at: OffsetRange(end, end) for at, (_, end) in self._results.items()}, growing=True)
            with closing(TopicReader(self._kafka, "clientscope-stream")) as past:
                self._read(past, self._inputs)  # first, so that of clients that are gone little is kept
                self._read(past, self._results)
            read = self._follower.positions() | {at: self._taken[at] for at in self._inputs}
            self._follower.seek({at: OffsetRange(offset, offset) for at, offset in read.items()}, growing=True)
            while not self._stopping.is_set():
                self._take(self._poll(_POLL_S))
                self._taken |= self._follower.positions()
        except Exception as error:  # the query's own thread says so, and starts it again
            self._failure = error

    def _read(self, past: TopicReader, ranges: Mapping[TopicPartition, OffsetRange]) -> None:
        """Takes in what was there at the start. New results come between, so that a new secret waits for none of it."""
        past.seek(ranges)
        for batches in past.read():
            self._take(batches)
            self._taken |= past.positions()
            self._take(self._poll(), overtake=True)
            if self._stopping.is_set():
                return

    def _poll(self, timeout_s: float = 0.0) -> Batches:
        try:
            return self._follower.poll(timeout_s)
        except KafkaError as error:
            log.warning("%s could not be read, and is read again: %s", " and ".join(FOLLOWED), error)
            self._stopping.wait(_POLL_S)
            return {}

    def _take(self, batches: Batches, overtake: bool = False) -> None:
        results = [found for at, records in batches.items() if at.topic == RESULTS for found in map(self._result, records) if found]
        inputs = [(record, found) for at, of in batches.items() if at.topic == INPUTS for record in of if (found := self._input(record))]
        if new := [found for record, found in inputs if record.offset >= self._gauges_from.get(record.partition, 0)]:
            self._gauges.take(new)
        if inputs or results:
            self._findings.take([*(found for _, found in inputs), *results], overtake)

    def _result(self, record: Any) -> EngineInput | None:
        try:
            if record.value is not None:
                return self._reader.read(record.value)
            return None if clears_old_place(record) else _erased(record)
        except RecordError as error:
            self._passed_over(RESULTS, error)
            return None

    def _input(self, record: Any) -> InputRecord | None:
        try:
            return decode(InputRecord, record.value)
        except RecordError as error:
            self._passed_over(INPUTS, error)
            return None

    def _passed_over(self, topic: str, error: RecordError) -> None:
        if topic not in self._undecodable:
            log.warning("a record of %s is not what the job writes (%s), and is passed over", topic, error.reason)
        self._undecodable[topic] += 1


def _erased(record: Any) -> Erased:
    """
    Raises:
        RecordError: the tombstone is none of the job's.
    """
    try:
        return Erased(record.key.decode(), *map(int, dict(record.headers)[SOURCE_PLACE].split(b"/")))
    except (LookupError, TypeError, ValueError, AttributeError):
        raise RecordError("fields") from None


def _in_few_tasks(records: DataFrame) -> DataFrame:
    """In local mode a task for each core reads several of many partitions, each whole: one costs some 15 ms, whatever there is to read.

    On a cluster, whose executors come and go, each partition has its own.
    """
    context = records.sparkSession.sparkContext
    return records.coalesce(context.defaultParallelism) if context.master.startswith("local") else records


class TopicEnds:
    """Asks where topics' partitions end, over the same connections; for one thread, but for `close`."""

    def __init__(self, kafka: KafkaAccess, *topics: str) -> None:
        self._kafka, self._topics = kafka, topics
        self._reader: TopicReader | None = None
        self._asking = threading.Lock()

    def ask(self) -> EndsAsked | None:
        """The end of each partition; None where a partition's leader doesn't answer."""
        before = time.monotonic()
        with self._asking:
            try:
                if self._reader is None:
                    self._reader = TopicReader(self._kafka, "clientscope-stream", silence_s=_ANSWER_S)
                ends = {place: found.end for place, found in self._reader.ranges(*self._topics).items()}
            except (KafkaError, OSError):
                self._close()
                return None
        return EndsAsked(ends, before, time.monotonic()) if ends else None

    def close(self) -> None:
        """Closes the connections, once an answer has come or is too late."""
        with self._asking:
            self._close()

    def _close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


QUERY = JobQuery(
    start=LiveQuery,
    reads=(CONFIGS, CONNECTIONS, *FOLLOWED, DECISIONS, FINDINGS, GAUGES, STATUS),
    writes=(CONFIGS, *FOLLOWED, FINDINGS, GAUGES),
    step=passed,
    is_live=True,
)
