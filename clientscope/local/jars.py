"""Jars: downloaded once by the Ivy that PySpark ships, then taken from the cache; checked against ``jars.sha256`` each time.

One ``ivy.xml`` names them; no Maven is needed. Two configurations, ``spark`` and ``broker``, are what most users need. The others are for
other releases of Spark, for tests and for the benchmark, and each is fetched when it is first asked for.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from clientscope.errors import EnvironmentProblem
from clientscope.local.java import java

_HERE = Path(__file__).parent
IVY_XML = _HERE / "ivy.xml"
LOCK = _HERE / "jars.sha256"
CONFIGURATIONS = ("spark", "broker")
Progress = Callable[[str], None]


def home() -> Path:
    """Where downloaded jars live: ``$CLIENTSCOPE_JARS``, or else ``~/.cache/clientscope/jars``."""
    return Path(os.environ.get("CLIENTSCOPE_JARS") or Path.home() / ".cache" / "clientscope" / "jars")


def configurations() -> list[str]:
    """All of ``ivy.xml``, in its order; ``spark`` is for the release that requirements.lock has."""
    names = [each.get("name", "") for each in ElementTree.parse(IVY_XML).iter("conf")]  # noqa: S314 - our own file
    return [name for name in names if name != "default"]


def jars(configuration: str, progress: Progress = lambda line: None) -> list[Path]:
    """The jars of one configuration of ``ivy.xml``, each with the digest that was locked.

    Downloads what is missing: of both of `CONFIGURATIONS`, or of another.

    Args:
        configuration: one of `configurations`.
        progress: called with a line that says what is being done, when something must be downloaded.

    Raises:
        EnvironmentProblem: no Java, no network on the first run, or a jar that is not the one that was locked, or no longer is.
    """
    wanted = {home() / name: digest for name, digest in _locked().items() if name.startswith(f"{configuration}/")}
    paths = list(wanted)
    if not all(path.is_file() for path in paths):
        with _alone():
            if not all(path.is_file() for path in paths):
                download(progress, CONFIGURATIONS if configuration in CONFIGURATIONS else (configuration,))
    # Each time: a user with write access to the cache would otherwise choose what Java runs.
    for path, digest in wanted.items():
        if (found := sha256(path)) != digest:
            raise EnvironmentProblem(
                f"{path} was changed after it was downloaded: SHA-256 {found[:16]}…, locked is {digest[:16]}…",
                f"rm {path}; the next start downloads it again (check who may write to that folder)",
            )
    return paths


def missing(configuration: str) -> list[Path]:
    """Which jars of a configuration aren't in the cache; downloads nothing."""
    return [home() / name for name in _locked() if name.startswith(f"{configuration}/") and not (home() / name).is_file()]


@contextmanager
def _alone() -> Iterator[None]:
    """No two processes download at once: Ivy doesn't lock its cache."""
    home().mkdir(parents=True, exist_ok=True)
    with (home() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def download(progress: Progress, configurations: Sequence[str]) -> None:
    """Fetches every jar of these configurations and checks each against the lock.

    Raises:
        EnvironmentProblem: see `jars`.
    """
    with tempfile.TemporaryDirectory(prefix="clientscope-jars-") as scratch:
        retrieve(Path(scratch), progress, configurations)
        wanted = {name: digest for name, digest in _locked().items() if name.split("/")[0] in configurations}
        for name, digest in wanted.items():
            fetched = Path(scratch) / name
            if not fetched.is_file():
                raise EnvironmentProblem(f"Ivy did not bring {name}", "if the lock is older than ivy.xml, run: tools/lock_jars.py")
            if (found := sha256(fetched)) != digest:
                raise EnvironmentProblem(
                    f"{name} has SHA-256 {found[:16]}…, locked is {digest[:16]}…",
                    "check for a mirror that alters jars; if ivy.xml changed on purpose, run: tools/lock_jars.py",
                )
            target = home() / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # A whole jar or none under its final name, whenever this ends.
            part = target.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(fetched.read_bytes())
            part.replace(target)


def retrieve(target: Path, progress: Progress, configurations: Sequence[str]) -> None:
    """Has Ivy resolve these configurations of ``ivy.xml`` and copy the jars to ``target/<configuration>/``.

    Raises:
        EnvironmentProblem: something could not be resolved; mostly, that there is no network.
    """
    command = [java(), "-Xmx512m", "-jar", str(ivy_jar()), "-ivy", str(IVY_XML), "-confs", *configurations]
    command += ["-cache", str(home().with_name("ivy"))]
    command += ["-retrieve", str(target / "[conf]" / "[artifact]-[revision].[ext]"), "-types", "jar", "bundle"]
    if (settings := Path.home() / ".ivy2" / "ivysettings.xml").is_file():
        command += ["-settings", str(settings)]
    what = "Kafka, Spark's Kafka connector): about 57 MB" if "broker" in configurations else f"{', '.join(configurations)})"
    progress(f"downloading jars ({what}, once; half a minute to find out which")
    output = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            output.append(line)
            if "[SUCCESSFUL ]" in line:
                progress(f"downloaded {line.split('!')[-1].strip()}")
    if ivy.returncode != 0 or not any(target.glob("*/*.jar")):
        unresolved = [line.strip() for line in output if "not found" in line or "Exception" in line or "ERROR" in line]
        raise EnvironmentProblem(
            f"the jars could not be downloaded: {unresolved[0] if unresolved else 'Ivy failed'}",
            "the first run needs the network (Maven Central); behind a mirror, set it in ~/.ivy2/ivysettings.xml",
        )


def ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise EnvironmentProblem("PySpark, which has Ivy, isn't installed in this environment", "pip install 'clientscope[stream]'")
    return found[-1]


def _locked() -> dict[str, str]:
    """Relative path → SHA-256, as `jars.sha256` (in sha256sum's format) says."""
    pairs = (line.split("  ", 1) for line in LOCK.read_text().splitlines())
    return {name: digest for digest, name in pairs}


def sha256(path: Path) -> str:
    """A file's digest, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
