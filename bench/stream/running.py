"""An installation with the job, and queries of its state."""

from __future__ import annotations

import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka
import psutil
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from bench.gateway.proc import asked, cpu_by_command, pss_bytes
from bench.installation import PUSHING, Installation
from clientscope.errors import EnvironmentProblem
from clientscope.local.process import free_port

_METRICS = "clientscope_stream_"


@dataclass
class Spent:
    """What one query has done since the job was started.

    Attributes:
        phases: seconds, by Spark's own names of a batch's phases.
    """

    batches: float = 0
    rows: float = 0
    phases: dict[str, float] = field(default_factory=dict)

    def since(self, earlier: Spent) -> Spent:
        """What it has done since then."""
        phases = {name: seconds - earlier.phases.get(name, 0.0) for name, seconds in self.phases.items()}
        return Spent(self.batches - earlier.batches, self.rows - earlier.rows, phases)


class Running(Installation):
    """What an operator runs: the job too."""

    def __init__(self, folder: Path, partitions: int = 1) -> None:
        super().__init__(folder, *PUSHING, partitions=partitions)
        self._folder = folder
        self._metrics = f"127.0.0.1:{free_port()}"

    def _start(self) -> None:
        super()._start()
        self.start_job()

    def job_flags(self) -> tuple[str, ...]:
        """Where its topics and files are."""
        return (
            "--bootstrap-servers", self.internal, "--checkpoint-dir", str(self._folder / "checkpoints"),
            "--history-dir", str(self._folder / "history"), "--metrics-listen", self._metrics,
        )  # fmt: skip

    def start_job(self, *flags: str) -> None:
        """The job, again."""
        self.processes.start("stream", "stream", *self.job_flags(), *flags)
        self.processes.await_ready("stream", timeout_s=180)

    def stop_job(self) -> None:
        """Ends it."""
        self.processes.stop("stream")

    def each(self, topic: str, begins: Sequence[int] = ()) -> Iterator[confluent_kafka.Message]:
        """A topic's records that are there now, partition by partition.

        Args:
            begins: the offset to begin at, of each partition; none for all that there is.
        """
        with self._consumer() as consumer:
            for number, end in enumerate(self.ends(topic)):
                begin = begins[number] if begins else 0
                consumer.assign([confluent_kafka.TopicPartition(topic, number, begin)])
                while begin < end:
                    messages = consumer.consume(10_000, 10.0) if end - begin > 10_000 else [consumer.poll(10.0)]
                    if not messages or any(message is None or message.error() for message in messages):
                        raise EnvironmentProblem(f"partition {number} of {topic} could not be read beyond {begin} of {end}")
                    yield from messages
                    begin = messages[-1].offset() + 1

    def appended_ms(self, topic: str, partition: int, offset: int) -> int:
        """When the record there was appended."""
        with self._consumer() as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, offset)])
            message = consumer.poll(30.0)
            if message is None or message.error():
                raise EnvironmentProblem(f"partition {partition} of {topic} has no record at {offset}")
            return int(message.timestamp()[1])

    def ends(self, topic: str) -> list[int]:
        """Where each of a topic's partitions ends."""
        with self._consumer() as consumer:
            places = (confluent_kafka.TopicPartition(topic, number) for number in range(self._partitions))
            return [int(consumer.get_watermark_offsets(place, 30.0)[1]) for place in places]

    @contextmanager
    def _consumer(self) -> Iterator[confluent_kafka.Consumer]:
        settings = {"bootstrap.servers": self.internal, "group.id": "bench", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        try:
            yield consumer
        finally:
            consumer.close()

    def job_cpu_seconds(self) -> dict[str, float]:
        """What the job's processes have taken of all cores: the Python driver, the JVM (``java``) and Python's workers."""
        return cpu_by_command(self.processes.pid("stream"))

    def driver_megabytes(self) -> float:
        """Resident memory of the Python driver, as its metrics say."""
        return next(sample.value for sample in self.metrics() if sample.name == "process_resident_memory_bytes") / 1e6

    def spent(self) -> dict[str, Spent]:
        """By query, from the job's metrics."""
        found: dict[str, Spent] = defaultdict(Spent)
        for sample in self.metrics():
            match sample.name.removeprefix(_METRICS):
                case "batch_seconds_count":
                    found[sample.labels["query"]].batches = sample.value
                case "input_rows_total":
                    found[sample.labels["query"]].rows = sample.value
                case "batch_phase_seconds_total":
                    found[sample.labels["query"]].phases[sample.labels["phase"]] = sample.value
        return found

    def metrics(self) -> list[Sample]:
        """All of the job's metrics."""
        with urllib.request.urlopen(f"http://{self._metrics}/metrics") as answer:
            families = text_string_to_metric_families(answer.read().decode())
        return [sample for family in families for sample in family.samples]

    def footprint(self) -> dict[str, float]:
        """What the job holds: memory, files that are open, and files of its checkpoints."""
        pid = self.processes.pid("stream")
        heap, other = (
            next(s.value for s in self.metrics() if s.name == f"{_METRICS}jvm_memory_bytes" and s.labels["area"] == area)
            for area in ("heap", "nonheap")
        )
        state = sum(s.value for s in self.metrics() if s.name == f"{_METRICS}state_rows")
        return {
            "heap in use, MB": heap / 1e6,
            "other memory of the JVM's, MB": other / 1e6,
            "series and gateways": state,
            "all processes, MB (PSS)": pss_bytes(pid) / 1e6,
            "open files": sum(asked(pid, psutil.Process.num_fds).values()),
            "files of checkpoints": sum(path.is_file() for path in (self._folder / "checkpoints").rglob("*")),
        }
