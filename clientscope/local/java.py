"""Search for Java, the only requirement besides Python and make."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from clientscope.errors import EnvironmentProblem

MINIMUM = 17
_HINT = "install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless), or point JAVA_HOME at one"


@functools.cache
def java() -> str:
    """The path of a ``java`` that is new enough: ``$JAVA_HOME/bin/java``, or else the one on PATH.

    Raises:
        EnvironmentProblem: there is no Java, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if path is None:
        raise EnvironmentProblem(f"no Java in JAVA_HOME={home}" if home else "no Java on PATH", _HINT)
    match = re.match(r"(?:1\.)?(\d+)", version(path))
    if match is None:
        raise EnvironmentProblem(f"{path} does not report its version", _HINT)
    if int(match[1]) < MINIMUM:
        raise EnvironmentProblem(f"{path} is Java {match[1]}; Spark 4 and Kafka 4 need {MINIMUM} or later", _HINT)
    return path


def version(path: str) -> str:
    """What this ``java -version`` reports, such as 17.0.12; ``unknown`` for nothing."""
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "([\w.+-]{1,40})"', said.stderr + said.stdout)
    return found[1] if found else "unknown"
