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
    store: Literal["", "s3"] = Field(
        "", description="s3: add Hadoop's client of S3, 690 MB, for checkpoints or history there; by default none"
    )


def run(settings: BundleSettings) -> int:
    """Writes the bundle.

    Raises:
        SettingsError: there is no client of the store for this release of Spark.
    """
    from clientscope.commands.bundle import folder
    from clientscope.errors import SettingsError
    from clientscope.local import jars
    from streaming.internals.releases import of_minor

    release = of_minor(settings.spark)
    if settings.store and not release.s3:
        raise SettingsError(
            f"--store s3: there is none for Spark {settings.spark}", "docs/stores.md names what spark-submit fetches by itself"
        )
    chosen = (release.jars, release.s3) if settings.store else (release.jars,)
    folder.write(settings.folder, [jar for configuration in chosen for jar in jars.jars(configuration, print)])
    print(f"wrote {settings.folder} for Spark {settings.spark}; docs/cluster.md describes how to give it to spark-submit")
    return 0


COMMAND = Command(BundleSettings, run)
