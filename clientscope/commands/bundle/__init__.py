"""The command ``clientscope bundle``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.option import Option


class BundleSettings(Settings):
    """Writes the files that spark-submit needs to run the streaming job on a cluster."""

    section = "bundle"
    folder: Annotated[Path, Option(positional=True, metavar="folder")] = Field(description="directory to write to; created if missing")


def run(settings: BundleSettings) -> int:
    """Writes the bundle."""
    from clientscope.commands.bundle import folder
    from clientscope.local import jars

    folder.write(settings.folder, jars.jars("spark", print))
    print(f"wrote {settings.folder}; docs/cluster.md describes how to give it to spark-submit")
    return 0


COMMAND = Command(BundleSettings, run)
