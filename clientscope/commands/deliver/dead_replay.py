"""The command ``clientscope deliver dead replay``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import KafkaSettings
from clientscope.config.option import Option

_REPLAYED_AT_ONCE = 20
"""Messages in one request, so that its record stays small."""


class DeadReplaySettings(KafkaSettings):
    """Delivers messages again that were given up, under the same ids, and re-enables a receiver that answered 410."""

    section = "deliver"
    subcommand = "dead replay"
    receiver: Annotated[str, Option(flag_only=True, metavar="NAME")] = Field("", description="all messages of this receiver")
    id: Annotated[str, Option(flag_only=True, metavar="ID")] = Field("", description="the message with this id")
    every: Annotated[bool, Option(flag="all", flag_only=True)] = Field(False, description="all messages of every receiver")


def run(settings: DeadReplaySettings) -> int:
    """Asks the process that delivers to send messages again; it may be started later.

    Raises:
        SettingsError: no message is selected, or none fits.
        EnvironmentProblem: no broker, no topic, no right to read or write it, or Kafka has not acknowledged the request.
    """
    from kafka.errors import KafkaError

    from clientscope import topics
    from clientscope.clock import now_ms
    from clientscope.commands.deliver import dead
    from clientscope.errors import EnvironmentProblem, SettingsError
    from clientscope.kafka.access import KafkaAccess
    from clientscope.records.topics import DEADLETTER, DELIVERIES
    from sinks.alerts.journal import Journal
    from sinks.alerts.progress import Request

    if sum(map(bool, (settings.receiver, settings.id, settings.every))) != 1:
        raise SettingsError("one of --receiver NAME, --id ID and --all is required", "list them: clientscope deliver dead list")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(DEADLETTER, DELIVERIES), writes=(DELIVERIES,))
    letters = [one for one in dead.letters(kafka) if settings.every or settings.receiver == one.receiver or settings.id == one.id]
    if not letters and not settings.receiver:
        raise SettingsError("no such message was given up, or it has been delivered since", "list them: clientscope deliver dead list")
    requests = []
    for name in sorted({letter.receiver for letter in letters} | ({settings.receiver} if settings.receiver else set())):
        plans = [letter.plan() for letter in letters if letter.receiver == name]
        for start in range(0, max(1, len(plans)), _REPLAYED_AT_ONCE):
            requests.append(Request(receiver=name, plans=plans[start : start + _REPLAYED_AT_ONCE], at_ms=now_ms()))
    journal = Journal(kafka)
    try:
        journal.put(*requests)
        journal.flush()
    except KafkaError as error:
        raise EnvironmentProblem(f"Kafka has not acknowledged it ({type(error).__name__})", "repeat the command") from None
    finally:
        journal.close()
    print(f"{len(letters)} messages will be sent again by clientscope deliver, under the same ids")
    return 0


COMMAND = Command(DeadReplaySettings, run)
