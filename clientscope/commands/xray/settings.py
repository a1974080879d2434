"""Settings that all commands share that read brokers' request logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from clientscope.config import Settings
from clientscope.config.option import Option


class RequestLogSettings(Settings):
    """Which logs, how much of them, and which upgrade clients are judged for."""

    paths: Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="PATH")] = Field(
        (), description="brokers' logs with lines of kafka.request.logger (*.gz too), globs, directories (*.log*), or - for standard input"
    )
    max_bytes: int = Field(64 * 1024 * 1024, ge=1024, description="stop after so many bytes of the logs")
    html: Annotated[Path | None, Option(flag_only=True)] = Field(
        None, description="also write the result as a page in one file, which can be mailed and printed"
    )
    target: str = Field("4.4", description="release of the brokers for upgrade readiness, such as 4.0.0 or 4.1")
    broker_release: str = Field(
        "", description="release of the brokers that wrote the logs, such as 3.9; makes upgrade readiness more precise"
    )
