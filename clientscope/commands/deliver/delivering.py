"""Implementation of ``clientscope deliver``, and of its test of receivers."""

from __future__ import annotations

from clientscope import pages, topics
from clientscope.bounded_http import refusals
from clientscope.commands.deliver import DeliverSettings
from clientscope.config_types import check_url
from clientscope.errors import SettingsError
from clientscope.kafka.access import KafkaAccess
from clientscope.local.process import StopRequest
from clientscope.model.topics import USED_BY
from clientscope.status_writer import INTERVAL_S, StatusWriter
from sinks.alerts import alertmanager, apprise, webhook
from sinks.alerts.delivery import Deliveries
from sinks.alerts.receivers import HttpReceiver, Receiver, WebhookReceiver, read
from sinks.alerts.sending import SendResult

_STOP_S = 30.0


def run(settings: DeliverSettings) -> int:
    """Delivers until SIGTERM or SIGINT; with ``--test`` sends a test to each receiver instead, and returns 1 if one failed.

    Raises:
        SettingsError: something in the receivers file, or a secret of it, is wrong.
        EnvironmentProblem: no broker, a topic is missing or set otherwise, a right is missing, the port is taken.
    """
    apprise.isolate()
    receivers = read(settings.receivers)
    external_url = _external_url(settings.external_url)
    for receiver in receivers:
        if receiver.kind == "apprise":
            apprise.require_known(receiver)
    if settings.test:
        chosen = [receiver for receiver in receivers if settings.receiver in ("", receiver.name)]
        if not chosen:
            raise SettingsError(f"there is no receiver {settings.receiver!r}", f"known: {', '.join(one.name for one in receivers)}")
        return send_test(chosen)
    if settings.receiver:
        raise SettingsError("--receiver is for --test", "to send nothing to a receiver, remove it from the receivers file")
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, *USED_BY["deliver"])
    delivery = Deliveries(kafka, receivers, external_url)
    served = {
        "/metrics": pages.metrics(delivery.metrics.registry),
        "/healthz": pages.probe(delivery.health),
        "/readyz": pages.probe(delivery.ready),
    }
    with StopRequest().installed(_STOP_S) as stop:
        end_pages = pages.serve("metrics-listen", settings.metrics_listen, served, refusals(delivery.metrics.registry))
        status = StatusWriter(kafka, "clientscope-deliver", lambda: delivery.status(int(INTERVAL_S * 1000)))
        status.start()
        try:
            delivery.run(stop)
        finally:
            status.stop()
            end_pages()
    return 0


def send_test(receivers: list[Receiver]) -> int:
    """Sends a test message to each, and prints the result; 1 if one failed."""
    failed = False
    for receiver in receivers:
        for number, url in enumerate(receiver.urls):
            result = _test(receiver, url)
            failed |= not result.ok
            named = receiver.name + (f" {number + 1}" if len(receiver.urls) > 1 else "")
            print(f"{named}: {result.reason or 'ok'}", flush=True)
    return int(failed)


def _test(receiver: Receiver, url: str) -> SendResult:
    if isinstance(receiver, WebhookReceiver):
        return webhook.send_test(receiver)
    return alertmanager.send_test(receiver, url) if isinstance(receiver, HttpReceiver) else apprise.send_test(receiver)


def _external_url(url: str) -> str:
    try:
        check_url(url)
    except ValueError as error:
        raise SettingsError(
            f"--external-url: {error}", "set the public address of the page of serve, as in https://clientscope.example.com/"
        ) from None
    if len(url) > 300:
        raise SettingsError("--external-url is longer than 300 characters")
    return url
