"""Start file of a query without a checkpoint: a small JSON with its first offsets, written by ``clientscope checkpoints reset``.

Spark's Kafka source takes ``startingOffsets`` only for a new checkpoint, and never looks at them again.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, ValidationError

from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import write_atomically
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.offsets import Offsets, to_json
from streaming.checkpoints.plans import folder
from streaming.internals import spark_files

FILE = "clientscope-start.json"


class StartOffsets(BaseModel):
    """The offsets at which a query without a checkpoint begins.

    Attributes:
        offsets: topic → partition → offset, -2 for where it begins; None begins at the beginning of all.
        position: how far the query had read by the checkpoint that was moved aside, so that records in between are reported as lost.
        written_at: ISO 8601, UTC.
        lost: as in the manifest. A query that skips lost records keeps its count; one that a person resets begins at 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    offsets: dict[str, dict[int, int]] | None
    position: dict[str, dict[int, int]]
    written_at: str
    lost: dict[str, dict[str, list[tuple[int, int]]]] = {}


def read(checkpoint: AnyPath) -> StartOffsets | None:
    """What was left there, or None.

    Raises:
        Refused: it is damaged.
    """
    path = checkpoint / FILE
    try:
        return StartOffsets.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValidationError, OSError) as error:
        raise Refused(f"{path} is damaged: {str(error).splitlines()[0]}", "write it again: clientscope checkpoints reset") from None


def write(checkpoint: AnyPath, start: StartOffsets) -> None:
    """Leaves it there."""
    write_atomically(checkpoint / FILE, json.dumps(start.model_dump(mode="json"), indent=1) + "\n")


def starting_offsets(checkpoint_dir: AnyPath, query: str) -> str:
    """Spark's option of that name, for a query that is about to start; it only matters until a checkpoint has its first offsets.

    A query that failed before Kafka answered has left Spark's metadata and no offsets.
    """
    checkpoint = folder(checkpoint_dir, query)
    start = None if spark_files.placed(checkpoint) else read(checkpoint)
    return "earliest" if start is None or start.offsets is None else to_json(start.offsets)


def completed(offsets: Offsets, partitions: dict[str, int], default: int) -> dict[str, dict[int, int]]:
    """With an offset for each partition, as Spark demands."""
    return {topic: {number: offsets.get(topic, {}).get(number, default) for number in range(count)} for topic, count in partitions.items()}
