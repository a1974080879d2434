"""Folder that ``clientscope bundle`` writes: everything that spark-submit needs to run the job on a cluster, except a Python environment.

Who needs it: whoever has a Spark of his own. A zip is the one form of Python code that executors can import from ``--py-files``; a wheel
is shipped and not importable.
"""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import clientscope
from clientscope.errors import EnvironmentProblem
from streaming.session import DAEMON, JVM, LOG4J, PROGRAM, local_file_system

PACKAGES = ("clientscope", "udfs", "streaming", "sinks")
ZIP = "clientscope.zip"
PROPERTIES = "clientscope.properties"
_LOG4J = "log4j2.properties"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the zip, so that the same code makes the same zip."""


def write(folder: Path, jars: Iterable[Path]) -> None:
    """Writes zip, jars, program, and properties that name them where they lie; what is there already is written over.

    Args:
        jars: as `clientscope.local.jars.jars` finds them for the cluster's release of Spark.

    Raises:
        EnvironmentProblem: the folder can't be written.
    """
    folder = folder.absolute()
    try:
        (folder / "jars").mkdir(parents=True, exist_ok=True)
        _write_zip(folder / ZIP)
        shutil.copyfile(Path(clientscope.__file__).with_name(PROGRAM), folder / PROGRAM)
        shutil.copyfile(LOG4J, folder / _LOG4J)
        copied = [Path(shutil.copyfile(jar, folder / "jars" / jar.name)) for jar in jars]
        (folder / PROPERTIES).write_text("".join(f"{key} {value}\n" for key, value in properties(folder, copied).items()))
    except OSError as error:
        raise EnvironmentProblem(f"{folder} can't be written: {error.strerror}", "choose a directory that you may write to") from None


def properties(folder: Path, copied: list[Path]) -> dict[str, str]:
    """For ``spark-submit --properties-file``: what must be known before Python is. All else the job says itself."""
    return {
        **local_file_system(copied),
        "spark.jars": ",".join(str(jar) for jar in copied),
        "spark.submit.pyFiles": str(folder / ZIP),
        # Executors start their Python daemon where they have put the zip, and only later tell it of that.
        "spark.executorEnv.PYTHONPATH": ZIP,
        "spark.python.daemon.module": DAEMON,
        "spark.driver.extraJavaOptions": " ".join((*JVM, f"-Dlog4j2.configurationFile={(folder / _LOG4J).as_uri()}")),
        "spark.executor.extraJavaOptions": " ".join(JVM),
        "spark.driver.memory": "2g",
    }


def _write_zip(path: Path) -> None:
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(_files()):
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), file.read_bytes(), zipfile.ZIP_DEFLATED)
    part.replace(path)


def _files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations or not (root := Path(spec.submodule_search_locations[0])).is_dir():
            raise EnvironmentProblem(
                f"package {package} is not installed as files", "run the command where clientscope is installed by pip"
            )
        for file in root.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield f"{package}/{file.relative_to(root).as_posix()}", file
