"""Manifest of a checkpoint: what wrote it, in a small JSON file beside Spark's own files."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clientscope.errors import ClientscopeError
from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import write_atomically

FILE = "clientscope.json"
FORMAT = 1


class Refused(ClientscopeError):
    """A checkpoint that this job can't continue with; nothing has been read or written."""


class SeenTopic(BaseModel):
    """A topic as it was when the job last started.

    Attributes:
        topic_id: Kafka's own, which a topic that is deleted and made again doesn't keep (KIP-516); None where the broker has none.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    topic_id: str | None
    partitions: int = Field(ge=1)


class Manifest(BaseModel):
    """What wrote a checkpoint.

    Attributes:
        state_version: the query's, as in `streaming.checkpoints.plans`.
        record_versions: record schema → the newest version that the job could read.
        shuffle_partitions: Spark's, which can't change while the checkpoint lives.
        written_at: when the job started that wrote this, ISO 8601 in UTC.
        batch: the last that was committed then.
        lost: topic → partition → the ranges [from, to) that were passed over when the query was started anew (``checkpoints reset``).
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    format: int = FORMAT
    query: str
    state_version: int = Field(ge=1)
    record_versions: dict[str, int]
    shuffle_partitions: int = Field(ge=1)
    topics: dict[str, SeenTopic]
    spark_version: str
    clientscope_version: str
    written_at: str
    batch: int | None = None
    lost: dict[str, dict[str, list[tuple[int, int]]]] = {}


def read(checkpoint: AnyPath) -> Manifest | None:
    """The manifest of a checkpoint, or None if it has none.

    Raises:
        Refused: it is damaged, or a newer clientscope's.
    """
    path = checkpoint / FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", "it says what wrote this checkpoint: let the job's user read it") from None
    try:
        found = json.loads(text)
        written = found.get("format") if isinstance(found, dict) else None
        if isinstance(written, int) and written > FORMAT:
            raise Refused(f"{path} is a newer clientscope's (format {written})", "run that clientscope, or a newer one")
        return Manifest.model_validate_json(text)
    except (ValidationError, UnicodeDecodeError, json.JSONDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        where = ".".join(str(part) for part in first["loc"])
        raise Refused(
            f"{path} is damaged: {f'{where}: ' if where else ''}{first['msg']}",
            "restore a backup; or remove this one file, if nothing else here was changed: the job then takes Spark's own as they are",
        ) from None


def write(checkpoint: AnyPath, manifest: Manifest) -> None:
    """Replaces a checkpoint's manifest, whole or not at all."""
    write_atomically(checkpoint / FILE, manifest.model_dump_json(indent=1) + "\n")
