"""Checkpoints as Spark 4.2 lays them out, made without Spark: small, and with whatever is to be wrong with them."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

from streaming.checkpoints.manifest import Manifest, SeenTopic
from streaming.checkpoints.offsets import Extent
from streaming.checkpoints.plans import PLANS

TOPIC_ID = "c840e371-7618-4912-bb4b-43bcb5778b16"


def put(path: Path, content: str | bytes) -> None:
    """A file, and Hadoop's checksums beside it."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    sums = b"".join(zlib.crc32(data[at : at + 512]).to_bytes(4, "big") for at in range(0, len(data), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)


def remove(path: Path) -> None:
    """A file, and its checksums."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def made(checkpoint: Path, query: str, committed: int = 4, planned: int | None = None, partitions: int = 1, first: int = 0) -> Path:
    """The checkpoint of a query that read ten records a batch, from one partition of its topic.

    Args:
        partitions: of Spark's shuffle.
        first: the oldest batch that hasn't been purged.
    """
    topic = PLANS[query].topic
    planned = committed if planned is None else planned
    put(checkpoint / "metadata", json.dumps({"id": "48859602-d4f8-43f5-a89a-7e831e07c9fb"}))
    put(checkpoint / "sources" / "0" / "0", f'\0v1\n{{"{topic}":{{"0":0}}}}')
    conf = {"spark.sql.shuffle.partitions": str(partitions), "filler": "x" * 500}
    for number in range(first, planned + 1):
        metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": number, "conf": conf})
        put(checkpoint / "offsets" / str(number), f'v1\n{metadata}\n{{"{topic}":{{"0":{(number + 1) * 10}}}}}')
    for number in range(first, committed + 1):
        put(checkpoint / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
    return checkpoint


def with_state(checkpoint: Path, versions: int, snapshot: int = 0, partitions: int = 1) -> Path:
    """Adds state: a changelog for each version from 1, and a snapshot of one of them."""
    put(checkpoint / "state" / "0" / "_metadata" / "metadata", 'v1\n{"operatorInfo":{}}')
    for partition in range(partitions):
        folder = checkpoint / "state" / "0" / str(partition)
        put(folder / "_metadata" / "schema", b"\0\2v2")
        for version in range(1, versions + 1):
            put(folder / f"{version}.changelog", b"LZ4Block" + bytes([version]))
        if snapshot:
            put(folder / "SSTs" / "000008-a.sst", b"s" * 1405)
            said = {"sstFiles": [{"localFileName": "000008.sst", "dfsSstFileName": "000008-a.sst", "sizeBytes": 1405}], "numKeys": 1}
            unsummed = folder / f"{snapshot}.zip"
            with zipfile.ZipFile(unsummed, "w") as packed:
                packed.writestr("CURRENT", "MANIFEST-000005\n")
                packed.writestr("metadata", f"v1\n{json.dumps(said)}")
            put(unsummed, unsummed.read_bytes())
    return checkpoint


def manifest_of(query: str, **changes: object) -> Manifest:
    """The manifest that this version writes, with changes."""
    plan = PLANS[query]
    fields: dict[str, object] = {
        "query": query,
        "state_version": plan.version,
        "record_versions": {plan.record: 0} if plan.record else {},
        "shuffle_partitions": 1,
        "topics": {plan.topic: SeenTopic(topic_id=TOPIC_ID, partitions=1)},
        "spark_version": "4.2.0",
        "clientscope_version": "0.1.0",
        "written_at": "2026-01-02T03:04:05+00:00",
    }
    return Manifest(**{**fields, **changes})  # type: ignore[arg-type]


def holding(query: str, *extents: tuple[int, int]) -> dict[str, dict[int, Extent]]:
    """A topic whose partitions hold so much."""
    return {PLANS[query].topic: {number: Extent(*each) for number, each in enumerate(extents)}}
