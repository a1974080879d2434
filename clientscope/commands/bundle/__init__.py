"""The command ``clientscope bundle``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.option import Option


class BundleSettings(Settings):
    """Writes the files that spark-submit needs to run the streaming job on a cluster."""

    section = "bundle"
    folder: Annotated[Path, Option(positional=True, metavar="folder")] = Field(description="directory to write to; created if missing")
    spark: Literal["3.5", "4.0", "4.1", "4.2"] = Field("4.2", description="release of Spark that the cluster has")


def run(settings: BundleSettings) -> int:
    """Writes the bundle."""
    from clientscope.commands.bundle import folder
    from clientscope.local import jars
    from streaming.internals.releases import of_minor

    folder.write(settings.folder, jars.jars(of_minor(settings.spark).jars, print))
    print(f"wrote {settings.folder} for Spark {settings.spark}; docs/cluster.md describes how to give it to spark-submit")
    return 0


COMMAND = Command(BundleSettings, run)
