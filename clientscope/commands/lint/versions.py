"""Version of a client library, read from a build file near a settings file.

Read are ``pom.xml``, ``build.gradle``, ``build.gradle.kts``, ``requirements.txt``, ``uv.lock``, ``go.mod`` and ``package.json``, in the
file's folder and those above it, up to the one with ``.git``.  Only one exact version counts; a range leaves the version unknown.  The
files are searched for patterns, never run, and never parsed as XML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

MAX_BYTES = 4 << 20
"""Of a build file: a lock file of a large project has as much."""
MAX_LEVELS = 12
_EXACT = r"v?\d{1,6}(?:\.\d{1,6}){1,4}(?:[.\-+][\w.\-+]{0,60})?"


class BuildVersion(NamedTuple):
    """A version, and the file that has it."""

    version: str
    path: Path


_JAVA = ("kafka-clients", "kafka-streams", "connect-api", "connect-runtime")
_PYTHON = {"librdkafka": "confluent-kafka", "kafka-python": "kafka-python", "aiokafka": "aiokafka"}
_GO = {
    "librdkafka": r"github\.com/confluentinc/confluent-kafka-go(?:/v2)?",
    "franz-go": r"github\.com/twmb/franz-go",
    "sarama": r"github\.com/(?:IBM|Shopify)/sarama",
}
_NODE = {"kafkajs": "kafkajs"}


def near(path: Path, dialect: str) -> BuildVersion | None:
    """The library's version by the nearest build file that has one; None where there is none, or several differ."""
    return _near(path.absolute().parent, dialect)


def forget() -> None:
    """Build files are read anew from here on."""
    _near.cache_clear()
    _in_folder.cache_clear()


@lru_cache(maxsize=4096)
def _near(folder: Path, dialect: str) -> BuildVersion | None:
    for at in [folder, *folder.parents][:MAX_LEVELS]:
        if found := _in_folder(at, dialect):
            return found
        if (at / ".git").exists():
            break
    return None


@lru_cache(maxsize=4096)
def _in_folder(folder: Path, dialect: str) -> BuildVersion | None:
    for name, read in _READERS.items():
        path = folder / name
        versions = read(_text(path), dialect) if path.is_file() else set()
        if len(versions) == 1:
            return BuildVersion(versions.pop(), path)
    return None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return ""
    return content.decode("utf-8", "replace") if len(content) <= MAX_BYTES else ""


def _pom(text: str, dialect: str) -> set[str]:
    if dialect != "java":
        return set()
    found = set()
    for block in re.findall(r"<dependency>(.*?)</dependency>", text, re.DOTALL):
        parts = dict(re.findall(r"<(groupId|artifactId|version)>\s*([^<>\s]+)\s*<", block))
        if parts.get("groupId") == "org.apache.kafka" and parts.get("artifactId") in _JAVA and "version" in parts:
            found.add(_property(text, parts["version"]))
    return _exact(found)


def _property(text: str, version: str) -> str:
    named = re.fullmatch(r"\$\{([\w.-]{1,100})\}", version)
    if named is None:
        return version
    value = re.search(rf"<{re.escape(named[1])}>\s*([^<>\s]+)\s*</", text)
    return value[1] if value else ""


def _gradle(text: str, dialect: str) -> set[str]:
    artifacts = "|".join(_JAVA)
    return _exact(set(re.findall(rf"org\.apache\.kafka:(?:{artifacts}):([\w.\-+]+)", text))) if dialect == "java" else set()


def _requirements(text: str, dialect: str) -> set[str]:
    if dialect not in _PYTHON:
        return set()
    name = _PYTHON[dialect].replace("-", "[-_.]")
    return _exact(set(re.findall(rf"(?mi)^\s*{name}(?:\[[^\]\n]*\])?\s*==\s*([\w.\-+]+)", text)))


def _uv(text: str, dialect: str) -> set[str]:
    if dialect not in _PYTHON:
        return set()
    return _exact(set(re.findall(rf'(?m)^name = "{re.escape(_PYTHON[dialect])}"\r?\nversion = "([^"\n]+)"', text)))


def _go(text: str, dialect: str) -> set[str]:
    return _exact(set(re.findall(rf"(?m)^\s*(?:require\s+)?{_GO[dialect]}\s+(v[\w.\-+]+)", text))) if dialect in _GO else set()


def _package(text: str, dialect: str) -> set[str]:
    if dialect not in _NODE:
        return set()
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    parts = [loaded.get(key) for key in ("dependencies", "devDependencies")] if isinstance(loaded, dict) else []
    return _exact({str(part[_NODE[dialect]]) for part in parts if isinstance(part, dict) and _NODE[dialect] in part})


def _exact(versions: set[str]) -> set[str]:
    """These, if each is one version; none where one is a range, a property or nothing."""
    return versions if all(re.fullmatch(_EXACT, version) for version in versions) else set()


_READERS: Mapping[str, Callable[[str, str], set[str]]] = {
    "pom.xml": _pom, "build.gradle": _gradle, "build.gradle.kts": _gradle, "requirements.txt": _requirements, "uv.lock": _uv,
    "go.mod": _go, "package.json": _package,
}  # fmt: skip
