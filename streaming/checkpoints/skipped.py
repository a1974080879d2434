"""Records that every query skips, because decoding them kills the process.

Their places are kept in one small file beside the checkpoints. A topic that is deleted and created again reuses its offsets, so a place
also has the time at which Kafka appended the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from clientscope.errors import ClientscopeError
from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import write_atomically

FILE = "skipped.json"
_VERSION = "v1"


@dataclass(frozen=True, order=True)
class RecordPlace:
    """One record's.

    Attributes:
        timestamp_ms: Kafka's own, when it was appended.
        found_ms: when it was found, in milliseconds since the epoch.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    found_ms: int = 0

    @property
    def fingerprint(self) -> tuple[str, int, int]:
        """What makes it one record."""
        return self.topic, self.partition, self.offset


def read(checkpoint_dir: AnyPath) -> list[RecordPlace]:
    """All that were found until now.

    Raises:
        ClientscopeError: the file is no such list; says what to do.
    """
    path = checkpoint_dir / FILE
    try:
        content = json.loads(path.read_text("utf-8"))
        return [RecordPlace(**place) for place in content[_VERSION]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError) as error:
        raise ClientscopeError(f"{path} is damaged: {error!r}", "remove it; records that kill a decoder are then searched again") from None


def add(checkpoint_dir: AnyPath, found: Iterable[RecordPlace]) -> None:
    """Remembers these as well; the file is whole at any time. For one caller at a time."""
    known = {place.fingerprint: place for place in (*read(checkpoint_dir), *found)}
    write_atomically(checkpoint_dir / FILE, json.dumps({_VERSION: [asdict(place) for place in sorted(known.values())]}, indent=1))
