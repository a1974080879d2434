"""Brokers' metrics of connections and requests, from JMX exporters' pages or from a Prometheus that scrapes them.

A JMX exporter's rules choose the names of metrics and the spelling of labels. So a metric is recognised by what Kafka puts into its MBean:

- ``kafka.server:type=socket-server-metrics,clientSoftwareName=…,clientSoftwareVersion=…``, attribute ``connections`` (KIP-511, Kafka 2.5);
- ``kafka.network:type=RequestMetrics,name=RequestsPerSec,request=…,version=…`` (KIP-272, Kafka 2.0), and ``DeprecatedRequestsPerSec`` with
  software (KIP-896, Kafka 3.7), attribute ``Count``.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPException
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from clientscope.catalog.releases import api_key
from clientscope.errors import EnvironmentProblem, SettingsError

MOST_BYTES = 64 * 1024 * 1024
"""Of a page or an answer."""
MOST_KEYS = 20_000
"""Different combinations of software, API and version that are kept."""

_TIMEOUT_S = 30.0
_REQUESTS = '{__name__=~"(?i).*kafka.*", request!="", version!=""}'
_CONNECTIONS = tuple(
    f'{{__name__=~"(?i).*connections.*", {label}!=""}}' for label in ("clientSoftwareName", "clientsoftwarename", "client_software_name")
)
_WANTED = re.compile(r"client_?software_?name|request=", re.IGNORECASE)


class JmxKey(NamedTuple):
    """What a number is about.

    Attributes:
        kind: ``connections`` of a software; ``requests`` of an API's version; ``deprecated`` requests, of both.
        api_key: None for connections.
    """

    kind: str
    software_name: str = ""
    software_version: str = ""
    api_key: int | None = None
    api_version: int | None = None


class JmxMetrics:
    """Sums over brokers, listeners and network threads.

    Attributes:
        counts: connections now, or requests since the broker's start or in the window.
        unknown: names of requests that Kafka 4.4 doesn't have.
        left_out: samples beyond `MOST_KEYS`.
    """

    def __init__(self) -> None:
        self.counts: Counter[JmxKey] = Counter()
        self.unknown: set[str] = set()
        self.left_out = 0

    def add(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Takes a sample, if it is one of these."""
        if not 0 <= value < 2**63:  # NaN is neither
            return
        given = {re.sub(r"[^a-z]", "", label.lower()): text for label, text in labels.items()}
        metric = name.lower()
        software = given.get("clientsoftwarename", ""), given.get("clientsoftwareversion", "")
        if "request" in given and "version" in given:
            self._add_requests(metric, given, software, value)
        elif software[0] and "connections" in metric and not re.search(r"rate|total|count$|created", metric):
            self._count(JmxKey("connections", *software), value)

    def _add_requests(self, metric: str, given: Mapping[str, str], software: tuple[str, str], value: float) -> None:
        meter = given.get("name", metric).lower()
        if "requests" not in meter or "rate" in metric or not re.search(r"(total|count)$", metric) or not given["version"].isdigit():
            return
        request = given["request"]
        if request in ("Fetch", "FetchFollower"):  # Fetch counts both; followers are brokers
            return
        key = api_key("Fetch" if request == "FetchConsumer" else request)
        if key is None:
            self.unknown |= {request} if len(self.unknown) < 100 else set()
            return
        version = int(given["version"][:6])
        if "deprecated" in meter:
            self._count(JmxKey("deprecated", *software, key, version), value)
        else:
            self._count(JmxKey("requests", "", "", key, version), value)

    def _count(self, key: JmxKey, value: float) -> None:
        if key not in self.counts and len(self.counts) >= MOST_KEYS:
            self.left_out += 1
        elif value > 0:
            self.counts[key] += ceil(value)


def read_page(page: str, metrics: JmxMetrics) -> None:
    """Adds a page in Prometheus' text format.

    Args:
        page: a URL, a file, or ``-`` for the standard input.

    Raises:
        EnvironmentProblem: it doesn't answer.
        SettingsError: it can't be read, or has another format.
    """
    text = _fetched(page) if page.startswith(("http://", "https://")) else _of_file(page)
    lines = "\n".join(line for line in text.splitlines() if _WANTED.search(line))  # the rest of a page is some ten times as much
    try:
        for family in text_string_to_metric_families(lines + "\n"):
            for sample in family.samples:
                metrics.add(sample.name, sample.labels, sample.value)
    except (ValueError, KeyError, IndexError) as error:
        raise SettingsError(
            f"{page} is no page of a JMX exporter: {error}", "give its text format, as curl http://broker-1:9404/metrics shows it"
        ) from None


def ask_prometheus(url: str, window: str, metrics: JmxMetrics) -> None:
    """Adds what a Prometheus has: connections now, and requests within the window.

    ``increase()`` would be 0 for a version whose first request came in the window, since its counter begins with that request. So the value
    at the window's start is taken from the last one; a counter that is less than before began anew with its broker.

    Raises:
        EnvironmentProblem: it doesn't answer, or refuses.
    """
    for query in _CONNECTIONS:
        for labels, value in _answers(url, query):
            metrics.add(labels.get("__name__", ""), _without_name(labels), value)
    before = {_series(labels): value for labels, value in _answers(url, f"{_REQUESTS} offset {window}")}
    for labels, last in _answers(url, f"last_over_time({_REQUESTS}[{window}])"):
        start = before.get(_series(labels), 0.0)
        metrics.add(labels.get("__name__", ""), _without_name(labels), last - start if last >= start else last)


def _without_name(labels: Mapping[str, str]) -> dict[str, str]:
    return {label: text for label, text in labels.items() if label != "__name__"}


def _series(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


def _answers(url: str, query: str) -> Iterator[tuple[Mapping[str, str], float]]:
    text = _fetched(f"{url.rstrip('/')}/api/v1/query?{urllib.parse.urlencode({'query': query})}")
    try:
        answer: Any = json.loads(text)
        found: Iterable[Any] = answer["data"]["result"]
        for each in found:
            yield {str(label): str(value) for label, value in each["metric"].items()}, float(each["value"][1])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise EnvironmentProblem(
            f"{url} doesn't answer as Prometheus' HTTP API does", "give its base address, such as http://prometheus:9090"
        ) from None


def _fetched(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:  # noqa: S310 - only HTTP comes here
            return _bounded(response.read(MOST_BYTES + 1), url)
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise EnvironmentProblem(f"no metrics come from {url.partition('?')[0]}: {reason}") from None


def _of_file(name: str) -> str:
    try:
        if name == "-":
            return _bounded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input")
        with Path(name).open("rb") as file:
            return _bounded(file.read(MOST_BYTES + 1), name)
    except OSError as error:
        raise SettingsError(f"{name} can't be read: {error.strerror}", "give JMX exporters' pages: URLs, files, or -") from None


def _bounded(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise SettingsError(
            f"{name} has more than {MOST_BYTES >> 20} MiB", "have the exporter include kafka.server and kafka.network alone"
        )
    return data.decode("utf-8", "replace")
