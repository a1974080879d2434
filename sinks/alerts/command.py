"""The commands: ``clientscope deliver``, its ``--test``, and ``deliver dead list|replay``."""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from datetime import UTC, datetime

from kafka.errors import KafkaError
from prometheus_client import make_wsgi_app

from clientscope import pages, topics
from clientscope.bounded_http import refusals
from clientscope.config import DeadListSettings, DeadReplaySettings, DeliverSettings
from clientscope.config_types import check_url
from clientscope.errors import EnvironmentProblem, RecordError, SettingsError
from clientscope.kafka_access import KafkaAccess
from clientscope.local.process import StopRequest
from clientscope.records.topics import DEADLETTER, DELIVERIES, FINDINGS, STATUS
from clientscope.status.writer import INTERVAL_S, StatusWriter
from clientscope.topic_values import clean, parse
from sinks.alerts import alertmanager, apprise_sender, receivers_file
from sinks.alerts.active import now_ms, route
from sinks.alerts.delivery import Delivery
from sinks.alerts.feed import Feed
from sinks.alerts.journal import Journal
from sinks.alerts.message import Texts
from sinks.alerts.progress import DeadLetter, Request, Told, kind_of
from sinks.alerts.receivers import Receiver
from sinks.alerts.sending import Result, Route, post
from sinks.alerts.signing import headers
from sinks.alerts.times import moment

_REPLAYED_AT_ONCE = 20
"""Messages in one request, so that its record stays small."""

_STOP_S = 30.0


def run(settings: DeliverSettings) -> int:
    """Delivers until SIGTERM or SIGINT; with ``--test`` sends a test to each receiver instead, and returns 1 if one failed.

    Raises:
        SettingsError: something in the receivers file, or a secret of it, is wrong.
        EnvironmentProblem: no broker, a topic is missing or set otherwise, a right is missing, the port is taken.
    """
    receivers = receivers_file.read(settings.receivers)
    external_url = _external_url(settings.external_url)
    for receiver in receivers.every:
        if receiver.kind == "apprise":
            apprise_sender.require_known(receiver)
    if settings.test:
        chosen = [receiver for receiver in receivers.every if settings.receiver in ("", receiver.name)]
        if not chosen:
            raise SettingsError(f"there is no receiver {settings.receiver!r}", f"known: {', '.join(one.name for one in receivers.every)}")
        return test(chosen)
    if settings.receiver:
        raise SettingsError("--receiver is for --test", "a receiver that is to get nothing is taken out of the receivers file")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(FINDINGS, DELIVERIES), writes=(DELIVERIES, DEADLETTER, STATUS))
    delivery = Delivery(kafka, receivers, external_url)
    served = {
        "/metrics": make_wsgi_app(delivery.metrics.registry),
        "/healthz": pages.probe(delivery.health),
        "/readyz": pages.probe(delivery.ready),
    }
    with StopRequest().installed(_STOP_S) as stop:
        end_pages = pages.serve("metrics-listen", settings.metrics_listen, served, refusals(delivery.metrics.registry))
        status = StatusWriter(kafka, "clientscope-deliver", lambda: [delivery.status(now_ms(), int(INTERVAL_S * 1000))])
        status.start()
        try:
            delivery.run(stop)
        finally:
            status.stop()
            end_pages()
    return 0


def test(receivers: list[Receiver]) -> int:
    """Sends a test message to each, and says what became of it; 1 if one failed."""
    failed = False
    for receiver in receivers:
        for number, url in enumerate(receiver.urls):
            result = _test(receiver, url)
            failed |= result.outcome != "ok"
            named = receiver.name + (f" {number + 1}" if len(receiver.urls) > 1 else "")
            print(f"{named}: {'ok' if result.outcome == 'ok' else result.reason}", flush=True)
    return int(failed)


test.__test__ = False  # type: ignore[attr-defined]


def _test(receiver: Receiver, url: str) -> Result:
    how: Route = route(receiver)
    if receiver.kind == "alertmanager":
        return alertmanager.send(url, [alertmanager.test_alert(now_ms())], receiver, how)
    if receiver.kind == "apprise":
        return apprise_sender.AppriseSender(receiver, Texts()).test()
    now = int(time.time())
    told = {"type": "clientscope.test", "timestamp": datetime.fromtimestamp(now, UTC).isoformat(), "data": {"text": "nothing is wrong"}}
    body = json.dumps(told, separators=(",", ":")).encode()
    return post(url, body, {**dict(receiver.headers), **headers(f"msg_test_{now}", now, body, receiver.secrets)}, how)


def dead_list(settings: DeadListSettings) -> int:
    """Prints what was given up and has not been delivered since.

    Raises:
        EnvironmentProblem: no broker, no topic, or no right to read it.
    """
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(DEADLETTER, DELIVERIES))
    letters = [letter for letter in _dead(kafka) if settings.receiver in ("", letter.receiver)]
    for letter in letters:
        if settings.json_lines:
            print(letter.model_dump_json())
            continue
        at = moment(letter.at_ms).strftime("%Y-%m-%d %H:%M:%S UTC")
        print(f"{letter.id}  {at}  {letter.receiver}  {clean(letter.subject)}  ({letter.attempts} attempts: {letter.reason})")
    if not letters:
        print("nothing was given up that has not been delivered since", file=sys.stderr)
    return 0


def dead_replay(settings: DeadReplaySettings) -> int:
    """Has messages sent once more by the process that delivers, which may be started later.

    Raises:
        SettingsError: it isn't said which, or there is none such.
        EnvironmentProblem: as `dead_list`, or no right to write.
    """
    if sum(map(bool, (settings.receiver, settings.id, settings.every))) != 1:
        raise SettingsError("say which: one of --receiver NAME, --id ID and --all", "clientscope deliver dead list")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(DEADLETTER, DELIVERIES), writes=(DELIVERIES,))
    letters = [one for one in _dead(kafka) if settings.every or settings.receiver == one.receiver or settings.id == one.id]
    if not letters and not settings.receiver:
        raise SettingsError("nothing of that was given up, or it has been delivered since", "clientscope deliver dead list")
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
        raise EnvironmentProblem(f"Kafka has not acknowledged it ({type(error).__name__})", "try again") from None
    finally:
        journal.close()
    print(f"{len(letters)} messages will be sent again by clientscope deliver, under the same ids")
    return 0


def _dead(kafka: KafkaAccess) -> list[DeadLetter]:
    """The newest first."""
    with closing(Feed(kafka, DEADLETTER)) as feed:
        letters = _parsed(feed.read_to_end())
    with closing(Feed(kafka, DELIVERIES)) as feed:
        progress = feed.read_to_end()
    dead = set()
    for key, value in progress.items():
        if value is not None and kind_of(key) == "told":
            told = parse(Told, value)
            if told.status == "dead":
                dead.add(told.message_id)
    return sorted((letter for letter in letters if letter.id in dead), key=lambda letter: -letter.at_ms)


def _parsed(records: dict[str, bytes | None]) -> list[DeadLetter]:
    found = []
    for value in records.values():
        try:
            found += [parse(DeadLetter, value)] if value is not None else []
        except RecordError:
            continue  # the topic may have others' records
    return found


def _external_url(url: str) -> str:
    try:
        check_url(url)
    except ValueError as error:
        raise SettingsError(
            f"--external-url: {error}", "as people reach the page of serve, as in https://clientscope.example.com/"
        ) from None
    if len(url) > 300:
        raise SettingsError("--external-url is longer than 300 characters")
    return url
