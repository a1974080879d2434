"""The command ``clientscope jars``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings


class JarsSettings(Settings):
    """Downloads the jars that the broker and Spark need."""

    section = "jars"
    only: str = Field("", description="one set of jars: spark (4.2), spark-4.1, spark-4.0, spark-3.5; by default spark and broker")
    into: Path | None = Field(None, description="directory to copy them to, for spark-submit; created if missing")


def run(settings: JarsSettings) -> int:
    """Downloads what is missing, and prints where the jars are.

    Raises:
        SettingsError: there is no such set of jars.
        EnvironmentProblem: a jar can't be fetched, or the directory can't be written.
    """
    import shutil

    from clientscope.errors import EnvironmentProblem, SettingsError
    from clientscope.local import jars

    if settings.only and settings.only not in (known := jars.configurations()):
        raise SettingsError(f"--only: no set of jars is named {settings.only!r}", f"one of {', '.join(known)}")
    for configuration in (settings.only,) if settings.only else jars.CONFIGURATIONS:
        found = jars.jars(configuration, print)
        folder = settings.into or jars.home() / configuration
        if settings.into:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for jar in found:
                    shutil.copyfile(jar, folder / jar.name)
            except OSError as error:
                hint = "choose a directory that you may write to"
                raise EnvironmentProblem(f"{folder} can't be written: {error.strerror}", hint) from None
        print(f"{configuration}: {len(found)} jars in {folder}")
    return 0


COMMAND = Command(JarsSettings, run)
