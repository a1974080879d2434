"""Checks of this machine: Java, PySpark, jars, disk space."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote

from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import Situation
from clientscope.errors import EnvironmentProblem
from clientscope.local import jars
from clientscope.local.java import java
from streaming.internals.releases import release

_GIB = 1024**3
_LOW_BYTES, _FULL_BYTES = 5 * _GIB, _GIB // 2


def check_java(_: Situation) -> Iterator[CheckResult]:
    """The Java that the job and ``clientscope broker`` start."""
    try:
        path = java()
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    yield ok(f"Java {java_version(path)}, {path}")


def java_version(path: str) -> str:
    """What ``java -version`` reports; ``unknown`` if that is nothing."""
    try:
        said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = re.search(r'version "([\w.+-]{1,40})"', said.stderr + said.stdout)
    return found[1] if found else "unknown"


def package_version(name: str) -> str:
    """The version of an installed package; ``not installed``."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def check_spark(_: Situation) -> Iterator[CheckResult]:
    """PySpark, and the jars that the job needs."""
    found = package_version("pyspark")
    if found == "not installed":
        yield not_checked("PySpark isn't installed; the job needs it: pip install 'clientscope[stream]'")
        return
    try:
        configuration = release(found).jars
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    if missing := jars.missing(configuration):
        text = f"PySpark {found}; {len(missing)} jars of the job are missing in {jars.home()}"
        yield warning(text, "the job's first start downloads them, which needs the network", "clientscope jars")
        return
    try:
        yield ok(f"PySpark {found}, {len(jars.jars(configuration))} jars as they were locked")
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")


def check_disk(situation: Situation) -> Iterator[CheckResult]:
    """Free space where the job writes."""
    folders = [situation.stream.checkpoint_dir, situation.stream.history_dir] if situation.stream else ["."]
    seen = set()
    for folder in folders:
        if "://" in folder:
            yield not_checked(f"{folder} is in a store, whose free space is not known")
            continue
        there = next(path for path in (Path(folder).absolute(), *Path(folder).absolute().parents) if path.exists())
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        text = f"{free / _GIB:,.1f} GiB are free for {folder}"
        if free < _FULL_BYTES:
            yield problem(text, "free some space before the job writes: a full disk parks its queries", f"df -h {quote(str(there))}")
        elif free < _LOW_BYTES:
            yield warning(text, "history and checkpoints grow; see how much before it is full", f"df -h {quote(str(there))}")
        else:
            yield ok(text)
