"""A checkpoint of each released version, and the records that it was made from.

A checkpoint fits a topic by offsets. So what reads one here first writes the same records in the same order to a new broker, each as a
batch of its own; `fit` then puts the new topics' ids in the place of the old ones', which is all that it changes.
"""

from __future__ import annotations

import json
import tarfile
from contextlib import closing
from pathlib import Path

import kafka
from observe import read_all
from record_bytes import config_record, connection_record, setting

from clientscope.records.topics import CONFIGS, CONNECTIONS, GAUGES
from streaming.checkpoints import broker, manifest
from streaming.checkpoints.plans import PLANS, versions

FOLDER = Path(__file__).parent.parent / "fixtures" / "checkpoints"
GOLDEN = sorted(FOLDER.glob("*.tar.xz"))
RECORDS = 16
"""Of each topic: more than ten state versions, after which Spark makes a snapshot, and some after it."""

_GAUGES = "gauges.json"


def push(number: int) -> bytes:
    """The value of that offset in ``clientscope.configs``."""
    return config_record(setting("acks", "all"), client_id=f"golden-{number}")


def connection(number: int) -> bytes:
    """The value of that offset in ``clientscope.connections``: each software's count grows with every other record."""
    name = ("java", "go")[number % 2]
    return connection_record(number + 10, [(name, "1.0", number + 1, number + 1, 0)], connection_id=number)


RUN = [query for query in PLANS if query != "history_client_facts"]
"""Those that a job runs by default."""


def write(internal: str, numbers: range) -> None:
    """Writes those records to partition 0, in order."""
    with closing(kafka.KafkaProducer(bootstrap_servers=internal)) as producer:
        for number in numbers:
            producer.send(CONFIGS, key=b"golden-%d" % number, value=push(number), partition=0).get(timeout=30)
            producer.send(CONNECTIONS, key=b"g", value=connection(number), partition=0).get(timeout=30)


def pack(internal: str, checkpoint_dir: Path, target: Path) -> None:
    """Keeps the checkpoints of a job that was stopped, and what it had published of gauges."""
    newest = {message.key.decode(): message.value and message.value.decode() for message in read_all(internal, GAUGES)}
    (checkpoint_dir / _GAUGES).write_text(json.dumps({key: value for key, value in newest.items() if value}))
    with tarfile.open(target, "w:xz") as packed:
        for path in [checkpoint_dir / _GAUGES, *(checkpoint_dir / query for query in RUN)]:
            packed.add(path, path.name, filter=_without_principal)


def unpack(golden: Path, checkpoint_dir: Path) -> None:
    """The checkpoints, as they were written."""
    with tarfile.open(golden) as packed:
        packed.extractall(checkpoint_dir, filter="data")


def fit(internal: str, checkpoint_dir: Path) -> None:
    """Makes a new broker's topics those that the checkpoints know: the same records, the gauges of then, the new topics' ids."""
    write(internal, range(RECORDS))
    with closing(kafka.KafkaProducer(bootstrap_servers=internal)) as producer:
        for key, value in json.loads((checkpoint_dir / _GAUGES).read_text()).items():
            producer.send(GAUGES, key=key.encode(), value=value.encode()).get(timeout=30)
    seen = broker.ask(internal, {plan.topic for plan in PLANS.values()}).topics
    for query in PLANS:
        for path in versions(checkpoint_dir, query).values():
            if (written := manifest.read(path)) is not None:
                ids = {name: topic.model_copy(update={"topic_id": seen[name].topic_id}) for name, topic in written.topics.items()}
                manifest.write(path, written.model_copy(update={"topics": ids}))


def _without_principal(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
