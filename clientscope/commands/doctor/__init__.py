"""The command ``clientscope doctor``: checks an installation from this machine, and says what to do for each problem.

- `result`: what a check returns, and what it knows.
- `machine`, `files`: checks that need no broker.
- `cluster`, `listeners`: checks that ask the cluster, and write nothing to it; who answers at an address.
- `running`: the registry of checks, in the order in which they run, each with a time limit; the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.base import Option, TextOrJson
from clientscope.config_types import Address


class DoctorSettings(KafkaSettings):
    """Checks an installation from this machine, and says what to do. Exit status: 1 for a problem, 2 for wrong use."""

    section = "doctor"
    gateway: Annotated[Address, Option(flag_only=True)] = Field("", description="also check the gateway at this address")
    process: Annotated[Literal["", "gateway", "stream", "serve", "deliver", "findings"], Option(flag_only=True)] = Field(
        "", description="check the rights of this process alone; by default of all, of which one must have its rights"
    )
    timeout_seconds: Annotated[float, Option(flag_only=True)] = Field(
        5.0, gt=0, description="how long one address, or one broker, has for an answer"
    )
    output: TextOrJson


def run(settings: DoctorSettings, load: Callable[..., Any]) -> int:
    """Prints the result of each check, and versions; 1 if there is a problem.

    Args:
        load: reads the settings of another command.
    """
    from clientscope.commands.doctor import running

    return running.run(settings, load)


COMMAND = Command(DoctorSettings, run, reads_others=True)
