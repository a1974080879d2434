"""The command ``clientscope jars``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.option import Option


class JarsSettings(Settings):
    """Downloads the jars that the broker and Spark need."""

    section = "jars"
    lock: Annotated[bool, Option(flag_only=True)] = Field(False, description="resolve ivy.xml again and write jars.sha256 (for developers)")


def run(settings: JarsSettings) -> int:
    """Downloads what is missing, and prints where the jars are."""
    from clientscope.local import jars

    if settings.lock:
        print(f"locked {jars.lock(print)} jars in {jars.LOCK}")
    for configuration in jars.CONFIGURATIONS:
        print(f"{configuration}: {len(jars.jars(configuration, print))} jars in {jars.home() / configuration}")
    return 0


COMMAND = Command(JarsSettings, run)
