"""Configurations with and without mistakes, and what real clients make of them: which they refuse, and which settings they ignore."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from clientscope.catalog.configs import ClientType, Type
from clientscope.catalog.settings import Facts, Library, Release, libraries, numbers
from clientscope.local.jars import jars
from clientscope.local.java import java

PROGRAM = Path(__file__).with_name("clients") / "StartedClients.java"
KINDS = ("producer", "consumer", "admin")
_LOGGING = """
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %t %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""
_LIBRDKAFKA = r"""
import json, sys
import confluent_kafka
from confluent_kafka.admin import AdminClient
for line in sys.stdin:
    kind, settings = json.loads(line)
    make = {"producer": confluent_kafka.Producer, "consumer": confluent_kafka.Consumer, "admin": AdminClient}[kind]
    group = {"group.id": "orders"} if kind == "consumer" else {}  # the binding itself asks for one
    try:
        client = make({"bootstrap.servers": "127.0.0.1:1", **group, **settings})
        if kind == "consumer":
            client.close()
        del client
        print("@started", file=sys.stderr, flush=True)
    except Exception as error:
        print("@refused", " ".join(str(error).split()), file=sys.stderr, flush=True)
"""
_LEFT_OUT = re.compile(
    r"(ssl|sasl|security|internal|go|https?|oauth|enable\.sasl|bootstrap|metadata\.broker|config\.providers|plugin|topic\.(metadata|blacklist))\b"
    r"|.*(_cb|opaque|interceptors?|\.classes|\.class|signal|reporters?|_events|_conf)\b|debug|builtin\.features|log\.queue|client\.dns\.lookup"
    r"|partition\.assignment\.strategy|default_topic_conf|statistics\..*|log_level|enable\.random\.seed|socket_cb|group\.protocol\.type"
    r"|offset\.store\.(path|method)|(key|value)[._]?(de)?serializer|ssl_|msg_order_cmp|delivery\.report\.only\.error|receive\.message\.max|enable\.gapless|batch\.num\.messages|queued\..*|test\..*|broker\.version\.fallback|enable\.config\.push"
)
"""Settings that need files, classes or the application's code, or that fill the output."""
COMBINATIONS: dict[str, tuple[str, ...]] = {
    "producer": (
        "enable.idempotence=true acks=1",
        "enable.idempotence=true acks=0",
        "enable.idempotence=true retries=0",
        "enable.idempotence=true max.in.flight.requests.per.connection=6",
        "enable.idempotence=true acks=-1",
        "enable.idempotence=true max.in.flight.requests.per.connection=5",
        "transactional.id=t enable.idempotence=false",
        "transactional.id=t acks=1",
        "transactional.id=t retries=0",
        "transactional.id=t max.in.flight.requests.per.connection=10",
        "transactional.id=t",
        "acks=0 retries=0",
        "delivery.timeout.ms=1000 request.timeout.ms=2000",
        "delivery.timeout.ms=3000 request.timeout.ms=2000 linger.ms=5",
        "linger.ms=200000",
        "enable.idempotence=false acks=1",
        "transactional.id=t transaction.timeout.ms=5000",
        "reconnect.backoff.ms=5000 reconnect.backoff.max.ms=100",
        "reconnect.backoff.ms=20000",
    ),
    "consumer": (
        "group.id=g session.timeout.ms=6000 heartbeat.interval.ms=6000",
        "group.id=g heartbeat.interval.ms=60000",
        "group.id=g session.timeout.ms=6000 heartbeat.interval.ms=2000",
        "enable.auto.commit=true",
        "group.id=g enable.auto.commit=true",
        "enable.auto.commit=false",
        "session.timeout.ms=2000",
        "group.id=g max.poll.interval.ms=10000 session.timeout.ms=30000",
        "group.id=g max.poll.interval.ms=1000",
        "group.id=g group.protocol=consumer",
        "group.id=g group.protocol=consumer session.timeout.ms=45000",
        "group.id=g group.protocol=consumer heartbeat.interval.ms=3000",
        "group.id=g group.protocol=CLASSIC",
        "group.id=g group.remote.assignor=uniform",
        "group.id=g group.remote.assignor=uniform group.protocol=consumer",
        "reconnect.backoff.ms=5000 reconnect.backoff.max.ms=100",
    ),
    "admin": (
        "default.api.timeout.ms=1000",
        "default.api.timeout.ms=1000 request.timeout.ms=1000",
        "request.timeout.ms=90000",
        "default.api.timeout.ms=1000 request.timeout.ms=500",
    ),
}
"""Settings beside each other, for each kind of client: those that contradict each other, and others that are much like them."""


class Configuration(NamedTuple):
    """A client's settings; ``client_type`` is what it is for."""

    kind: str
    settings: dict[str, str]

    @property
    def client_type(self) -> ClientType:
        return ClientType(self.kind)


class Start(NamedTuple):
    """What a client made of a configuration: the error's words where it refused, and the settings that it called unknown or ignored."""

    refused: str | None
    ignored: frozenset[str]


def configurations(library_name: str, version: str, count: int, seed: int) -> list[Configuration]:
    """Configurations of one to six settings, most of them with one mistake."""
    library, release, random_ = libraries()[library_name], numbers(version), random.Random(seed)  # noqa: S311
    made = [Configuration(kind, _combined(text)) for kind, each in COMBINATIONS.items() for text in each]
    while len(made) < count:
        kind = random_.choice(KINDS)
        there = _there(library, kind, release)
        settings = {key: _value(facts, random_) for key, facts in random_.sample(sorted(there.items()), random_.randint(1, 5))}
        if random_.random() < 0.2:
            settings |= _combined(random_.choice(COMBINATIONS[kind]))
        if random_.random() < 0.75:
            settings |= _mistake(library, kind, release, there, random_)
        if library_name == "librdkafka" and settings.get("group.id") == "":
            continue  # confluent-kafka ends its process
        made.append(Configuration(kind, settings))
    return made


def _combined(text: str) -> dict[str, str]:
    return dict(setting.split("=") for setting in text.split(" "))


def _there(library: Library, kind: str, release: Release) -> dict[str, Facts]:
    found = {}
    for name in sorted(library.names):
        setting = library.setting(name)
        facts = setting.now(kind, release) if setting else None
        if library.name == "librdkafka" and kind == "admin" and setting and "consumer" not in setting.kinds:
            continue  # its admin client is a producer, and nobody sets a producer's settings there
        if facts and facts.type not in (Type.CLASS, Type.PASSWORD) and not _LEFT_OUT.match(name):
            found[name] = facts
    return found


def _value(facts: Facts, random_: random.Random) -> str:
    """One that the library takes by itself."""
    allowed = facts.allowed
    if allowed and allowed.form == "range":
        least = -1 if allowed.least is None else allowed.least
        most = least + 100_000 if allowed.most is None else min(allowed.most, least + 100_000)
        return str(random_.randint(int(least), int(most)))
    if allowed and allowed.words:
        word = random_.choice(allowed.words)
        return "by_duration:P1D" if word.startswith("by_duration") else word
    if facts.type == Type.BOOLEAN:
        return random_.choice(("true", "false", "True"))
    return str(random_.randint(1, 100_000)) if facts.type in (Type.INT, Type.LONG, Type.SHORT, Type.DOUBLE) else "orders"


def _mistake(library: Library, kind: str, release: Release, there: dict[str, Facts], random_: random.Random) -> dict[str, str]:
    key = random_.choice([*there])
    facts = there[key]
    allowed = facts.allowed
    match random_.choice(("value", "value", "value", "typo", "name", "name")):
        case "value" if allowed and allowed.form == "range":
            ends = [allowed.least - 1 if allowed.least is not None else None, allowed.most + 1 if allowed.most is not None else None]
            return {key: str(int(random_.choice([end for end in ends if end is not None])))}
        case "value" if allowed and allowed.words:
            return {key: random_.choice((*allowed.words[:1], "zst", "", f"{allowed.words[0]}x", allowed.words[0].upper()))}
        case "value":
            # librdkafka takes the digits that a text begins with.
            numbers_ = ("many",) if library.name == "librdkafka" else ("5ms", "many", "1.5", "99999999999999999999")
            wrong = {Type.BOOLEAN: ("maybe", "yes"), Type.STRING: ("", "x"), Type.LIST: ("a,b",)}
            return {key: random_.choice(wrong.get(Type(facts.type), numbers_))}
        case "typo":
            at = random_.randrange(1, len(key) - 1)
            changed = random_.choice((key[:at] + key[at + 1 :], key[:at] + key[at + 1] + key[at] + key[at + 2 :], key + "s"))
            return {changed: _value(facts, random_)}
        case _:
            other = random_.choice([*libraries().values()]) if random_.random() < 0.5 else library
            name = random_.choice(sorted(other.names))
            return {} if _LEFT_OUT.match(name) else {name: "1"}


def started_in_java(configuration: str, wanted: Sequence[Configuration]) -> list[Start]:
    """By ``kafka-clients`` of one configuration of ivy.xml."""
    paths = [path for path in jars(configuration) if not path.name.startswith("slf4j-api")]
    logging = [path for path in jars("broker") if path.name.startswith(("slf4j-api", "log4j-"))]
    lines = "\n".join("\t".join([each.kind, *(f"{quote(key)}={quote(value)}" for key, value in each.settings.items())]) for each in wanted)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "log4j2.properties").write_text(_LOGGING)
        path = os.pathsep.join(map(str, (*paths, *logging, folder)))
        command = [java(), "-Xmx512m", "-cp", path, str(PROGRAM)]
        ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    unused = r"The configuration '(.+)' was supplied but isn't a known config|These configurations '\[(.+)\]' were supplied but"
    return _starts([*ended.stdout.splitlines(), *ended.stderr.splitlines()], len(wanted), unused)


def started_in_librdkafka(wanted: Sequence[Configuration]) -> list[Start]:
    """By confluent-kafka."""
    lines = "\n".join(json.dumps([each.kind, each.settings]) for each in wanted)
    command = [sys.executable, "-c", _LIBRDKAFKA]
    output = subprocess.run(command, input=lines, stderr=subprocess.PIPE, text=True, check=True).stderr
    ignored = r"Configuration property (\S+) is a (?:consumer|producer) property and will be ignored|(\0)"
    numbered, number = [], 0
    for line in output.splitlines():
        numbered.append(f"@{number} {line.removeprefix('@')}")
        number += line.startswith("@")
    return _starts(numbered, len(wanted), ignored)


def _starts(lines: Iterable[str], count: int, ignored: str) -> list[Start]:
    """Of lines that begin with ``@`` and the number of the configuration."""
    refused: dict[int, str | None] = {}
    found: dict[int, set[str]] = {number: set() for number in range(count)}
    for line in lines:
        if not (numbered := re.match(r"@(\d+) (.*)", line)):
            continue
        number, said = int(numbered[1]), numbered[2]
        if said.startswith(("started", "refused")):
            refused[number] = said.removeprefix("refused ") if said.startswith("refused") else None
        elif match := re.search(ignored, said):
            found[number] |= set(filter(None, re.split(r", ", match[1] or match[2])))
    assert refused.keys() == found.keys(), "each has its line"
    return [Start(refused[number], frozenset(found[number])) for number in range(count)]
