"""Files of a query's state: whether the version that its last commit needs can be restored.

As RocksDBFileManager lays them out: below ``state/<operator>/<partition>`` a snapshot ``<version>.zip``, which names the files in
``SSTs`` and ``logs`` that belong to it, and ``<version>.changelog`` for each version after it. A batch's version is its number plus one.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator

from clientscope.stores.store_path import AnyPath

_FILE = re.compile(r"(\d+)(?:_[0-9a-f-]+)?\.(zip|changelog)")


def problems(state: AnyPath, version: int, partitions: int | None) -> Iterator[str]:
    """What is missing or damaged, a sentence each; nothing for a query without state.

    Args:
        state: the checkpoint's folder of that name; it needn't exist.
        version: that must be whole.
        partitions: each operator has so many; None if that isn't known.
    """
    operators = sorted(path for path in state.iterdir() if path.name.isdigit()) if state.is_dir() else []
    for operator in operators:
        about = operator / "_metadata"  # Spark 3.5 has none
        if about.is_dir() and not (about / "metadata").is_file():
            yield f"state/{operator.name}/_metadata/metadata is missing"
        there = sorted(int(path.name) for path in operator.iterdir() if path.name.isdigit())
        for number in range(partitions) if partitions else there:
            yield from _problems(operator / str(number), f"state/{operator.name}/{number}", version)


def _problems(folder: AnyPath, name: str, version: int) -> Iterator[str]:
    if not folder.is_dir():
        yield f"{name} is missing"
        return
    found: dict[str, dict[int, AnyPath]] = {"zip": {}, "changelog": {}}
    for path in folder.iterdir():
        if match := _FILE.fullmatch(path.name):
            found[match[2]][int(match[1])] = path
    snapshot = max((number for number in found["zip"] if number <= version), default=0)
    for number in range(snapshot + 1, version + 1):
        if number not in found["changelog"]:
            yield f"{name}/{number}.changelog is missing, which version {version} is made of"
        elif _size(found["changelog"][number]) == 0:
            yield f"{name}/{number}.changelog is empty"
    if snapshot:
        yield from _snapshot(folder, name, found["zip"][snapshot])


def _snapshot(folder: AnyPath, name: str, path: AnyPath) -> Iterator[str]:
    try:
        with path.open("rb") as content, zipfile.ZipFile(content) as snapshot:
            if damaged := snapshot.testzip():
                yield f"{name}/{path.name} is damaged: {damaged} in it"
            said = json.loads(snapshot.read("metadata").split(b"\n", 1)[1])
        sizes = {f"SSTs/{file['dfsSstFileName']}": file["sizeBytes"] for file in said["sstFiles"]}
        sizes |= {f"logs/{file['dfsLogFileName']}": file["sizeBytes"] for file in said.get("logFiles") or ()}
    except (OSError, zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
        yield f"{name}/{path.name} is damaged: {error}"
        return
    for file, size in sizes.items():
        found = _size(folder / file)
        if found is None:
            yield f"{name}/{file} is missing, which {path.name} needs"
        elif found != size:
            yield f"{name}/{file} has {found} bytes, not {size}"


def _size(path: AnyPath) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
