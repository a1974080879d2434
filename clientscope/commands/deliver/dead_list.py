"""The command ``clientscope deliver dead list``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.option import Option


class DeadListSettings(KafkaSettings):
    """Lists messages whose delivery was given up (clientscope.deadletter), newest first."""

    section = "deliver"
    subcommand = "dead list"
    receiver: Annotated[str, Option(flag_only=True, metavar="NAME")] = Field("", description="list only this receiver")
    json_lines: Annotated[bool, Option(flag="json", flag_only=True)] = Field(False, description="print one JSON object per line")


def run(settings: DeadListSettings) -> int:
    """Prints the messages that were given up and not delivered since.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
    """
    import sys

    from clientscope import topics
    from clientscope.commands.deliver import dead
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import DEADLETTER, DELIVERIES
    from clientscope.topic_values import clean
    from sinks.alerts.times import moment

    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(DEADLETTER, DELIVERIES))
    letters = [letter for letter in dead.letters(kafka) if settings.receiver in ("", letter.receiver)]
    for letter in letters:
        if settings.json_lines:
            print(letter.model_dump_json())
            continue
        at = moment(letter.at_ms).strftime("%Y-%m-%d %H:%M:%S UTC")
        print(f"{letter.id}  {at}  {letter.receiver}  {clean(letter.subject)}  ({letter.attempts} attempts: {letter.reason})")
    if not letters:
        print("no message is undelivered", file=sys.stderr)
    return 0


COMMAND = Command(DeadListSettings, run)
