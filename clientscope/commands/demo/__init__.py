"""The command ``clientscope demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config.base import Option


class DemoSettings(Settings):
    """Runs everything on this machine: broker, gateway, streaming job, page, and real clients that come and go."""

    section = "demo"
    seconds: int = Field(0, ge=0, description="end after this many seconds, and fail unless every check passed; 0 runs until Ctrl-C")
    json_summary: Annotated[bool, Option(flag="json")] = Field(False, description="print the summary as JSON, as the last line")
    data_dir: Path | None = Field(None, description="directory that keeps the demo's data; by default a temporary one")
    gateway_port: int = Field(9092, ge=1, le=65535, description="port of the demo's gateway, on 127.0.0.1")
    broker_port: int = Field(19091, ge=1, le=65535, description="port of listener CLIENT of the demo's broker")
    internal_port: int = Field(19092, ge=1, le=65535, description="port of listener INTERNAL of the demo's broker")
    page_port: int = Field(8324, ge=1, le=65535, description="port of the page")


def run(settings: DemoSettings) -> int:
    """Runs the demo; 1 if a check failed."""
    from clientscope.commands.demo import running

    return running.run(settings)


COMMAND = Command(DemoSettings, run, long_running=True)
