"""The command ``clientscope explain``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import Option, TextOrJson
from clientscope.config_types import SoftwareText


class ExplainSettings(Settings):
    """Explains a setting of the client libraries: what it means, its values and defaults through the releases, and the rules about it."""

    section = "explain"
    key: Annotated[str, Option(positional=True, metavar="KEY")] = Field(description="a setting, under any library's name of it")
    software: Annotated[str, Option(metavar="LIBRARY", flag_only=True)] = Field(
        "", description="java, librdkafka, kafka-python, aiokafka, kafkajs, franz-go or sarama; by default all that have the setting"
    )
    software_version: Annotated[SoftwareText, Option(flag_only=True)] = Field(
        "unknown", description="version of the library, for what holds in it; by default the whole history"
    )
    output: TextOrJson


def run(settings: ExplainSettings) -> int:
    """Prints what is known of the setting.

    Raises:
        SettingsError: no library has it, or there is no such library.
    """
    from clientscope.commands.explain import explaining

    return explaining.run(settings)


COMMAND = Command(ExplainSettings, run)
