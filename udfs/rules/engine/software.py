"""Client libraries of a batch of pushes: each distinct name and version is looked up once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import own_name
from clientscope.catalog.settings import Release, libraries
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.vocabulary import DIALECT_OF_SOFTWARE, UNKNOWN_DIALECT

UNKNOWN = "unknown"


class KnownSoftware(NamedTuple):
    """One software as it called itself.

    Attributes:
        number: its dialect's place in `DIALECTS`, or `UNKNOWN_DIALECT`.
        release: of its library; empty where it is unknown.
    """

    name: str
    version: str
    number: int
    dialect: Dialect | None
    release: Release


def is_library(name: str, since: Release = (), before: Release = ()) -> Callable[[KnownSoftware], bool]:
    """Whether software is of this library; with bounds, also of a release that is known to be within them."""

    def holds(it: KnownSoftware) -> bool:
        if it.dialect is None or it.dialect.name != name:
            return False
        return not (since or before) or (bool(it.release) and since <= it.release and (not before or it.release < before))

    return holds


def lacks(key: str) -> Callable[[KnownSoftware], bool]:
    """Whether the library has no setting that Kafka calls ``key`` in this release, for any kind of client."""

    def holds(it: KnownSoftware) -> bool:
        if it.dialect is None:
            return False
        library = libraries()[it.dialect.name]
        settings = (library.setting(own_name(it.dialect, library, key, client_type)) for client_type in ClientType)
        return not any(each.now(kind, it.release) for each in settings if each for kind in each.kinds)

    return holds


class ClientSoftware:
    """The software of each push.

    Attributes:
        distinct: each once.
        which: per push its place in ``distinct``.
        dialects: per push its dialect's place in `DIALECTS`, or `UNKNOWN_DIALECT`.
    """

    def __init__(self, names: pa.StringArray, versions: pa.StringArray) -> None:
        by_name, by_version = (pc.fill_null(column, UNKNOWN).dictionary_encode() for column in (names, versions))
        width = max(len(by_version.dictionary), 1)
        pairs = by_name.indices.to_numpy(zero_copy_only=False).astype(np.int64) * width + by_version.indices.to_numpy(zero_copy_only=False)
        found, which = np.unique(pairs, return_inverse=True)
        all_names, all_versions = by_name.dictionary.to_pylist(), by_version.dictionary.to_pylist()
        self.distinct = [_known(all_names[pair // width], all_versions[pair % width]) for pair in found.tolist()]
        self.which: npt.NDArray[np.int64] = which
        self.dialects = np.array([known.number for known in self.distinct], np.int64)[which]

    def where(self, holds: Callable[[KnownSoftware], bool]) -> Mask:
        """Where it holds of the push's software; asked once for each distinct one."""
        return np.array([holds(known) for known in self.distinct], np.bool_)[self.which]


def _known(name: str, version: str) -> KnownSoftware:
    number = DIALECT_OF_SOFTWARE.get(name.lower(), UNKNOWN_DIALECT)
    dialect = DIALECTS[number] if number < len(DIALECTS) else None
    return KnownSoftware(name, version, number, dialect, dialect.release_of(version) if dialect else ())
