"""F34: 40 secrets, one for each place that a client can write to, and none of them in anything that is written; by the whole real path.

A canary's ``core`` stands nowhere else; that is what is searched for, in any case of letters. Markers stand beside the canaries and are no
secrets: where one isn't found, the search hasn't looked.
"""

from __future__ import annotations

import base64
import io
import json
import os
import random
import time
import tomllib
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from string import digits
from typing import Any

import deltalake
import kafka
import pyarrow.parquet
import pytest
from alert_receivers import Server, serving
from conftest import RunningGateway, sasl
from every import every
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse
from observe import page, private_file, read_all, write
from page_browser import watched
from patience import until
from playwright.sync_api import Browser
from record_bytes import config_record, connection_record, heartbeat, setting
from stream_job import StreamJob
from test_sasl import unsecured_token

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.clock import now_ms
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.push import Push
from clientscope.model.topics import (
    CONFIGS,
    CONNECTIONS,
    FINDINGS,
    QUARANTINE,
    RESULTS,
    TOPICS,
)
from clientscope.wire.messages import ApiVersionsRequest

pytestmark = pytest.mark.faults

STRAIGHT = b"straight"
"""Key of records that no gateway wrote: they stand on their topic as they are, and nowhere else."""

CLIENT_ID, SOFTWARE, VERSION, PRINCIPAL = "marker-client", "marker-software", "7.6.5-marker", "marker-user"
PASSWORD = "markers-password"

Setting = tuple[str, str, int, bool]

_source = random.Random(34)  # noqa: S311 - the same each time, and nobody's secrets


def _core(number: int) -> str:
    return f"CNRY{number:02}" + "".join(_source.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=10))


def _random() -> str:
    """A text that looks random: kinds of characters change at nearly each place."""
    kinds = ("abcdefghjkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", digits)
    return "".join(_source.choice(kinds[place % 3]) for place in range(30))


PLANS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
"""Their shapes, where they are planted, and what must be found beside them."""


class Canaries:
    """Every canary's core by its place; `at` makes one, once."""

    def __init__(self) -> None:
        self.by_place: dict[str, str] = {}

    def at(self, place: str, shape: str = "plain") -> str:
        """A new one, as a client writes it: in one of the shapes, or ``random``."""
        assert place not in self.by_place, place
        core = self.by_place[place] = _random() if shape == "random" else _core(len(self.by_place))
        return core if shape == "random" else PLANS["shapes"][shape].replace("{}", core)

    def found_in(self, content: bytes) -> list[str]:
        """Places whose canaries the content contains: as they are, in another case, or in base64."""
        lower = content.lower()
        return [
            place
            for place, core in self.by_place.items()
            if core.lower().encode() in lower or any(form in content for form in _in_base64(core))
        ]


def _in_base64(core: str) -> Iterable[bytes]:
    """The core as it stands within longer text in base64, wherever it begins."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + core.encode())
        yield encoded[4 if before else 0 : -4]


def as_bytes(content: object) -> bytes:
    """Anything that was read, as the search takes it."""
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, default=str)).encode()


class Path40:
    """The installation, the canaries, and what was found where."""

    def __init__(self, folder: Path, canaries: Canaries) -> None:
        self.folder, self.canaries = folder, canaries
        self.broker_port, self.internal = free_port(), f"127.0.0.1:{free_port()}"
        self.gateway = RunningGateway(f"127.0.0.1:{free_port()}")
        self.addresses = {name: f"127.0.0.1:{free_port()}" for name in ("serve", "deliver", "spark")}
        self.job = StreamJob(self.internal, folder, "--ui-port", self.addresses["spark"].split(":")[1])
        self.processes = self.job.processes
        self.surfaces: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self.answers: list[str] = []

    def surface(self, name: str, content: object, *markers: str) -> None:
        """Something that is read, and what must be found in it."""
        self.surfaces[name] = (as_bytes(content), markers)

    def page(self, url: str) -> bytes:
        return page(url)[1].encode()

    @contextmanager
    def client(self, client_id: str, *, user: str = PRINCIPAL, password: str = PASSWORD, token: str = "") -> Iterator[RawClient]:
        """One that has signed in, by PLAIN or with a token."""
        with self.gateway.connect(client_id) as client:
            self.sign_in(client, user, password, token)
            yield client

    def sign_in(self, client: RawClient, user: str, password: str, token: str = "") -> int:
        mechanism = "OAUTHBEARER" if token else "PLAIN"
        proof = f"n,,\x01auth=Bearer {token}\x01\x01" if token else f"\0{user}\0{password}"
        client.request(SaslHandshakeRequest(version=1, mechanism=mechanism), SaslHandshakeResponse)
        answer = client.request(SaslAuthenticateRequest(version=1, auth_bytes=proof.encode()), SaslAuthenticateResponse)
        self.answers.append(str(answer))
        return int(answer.error_code)

    def pushes(self, client_id: str, settings: list[Setting], software: str = SOFTWARE, version: str = VERSION, **who: str) -> None:
        """Connects as this client, identifies itself and pushes; keeps the answer."""
        with self.client(client_id, **who) as client:
            client.api_versions(software, version, uuid.uuid4())
            self.answers.append(str(client.push_config(settings)))


def broker_plan(run: Path40, user: str) -> BrokerPlan:
    extra = sasl("PLAIN,OAUTHBEARER", PASSWORD, PRINCIPAL, user)
    return BrokerPlan(run.broker_port, int(run.internal.split(":")[1]), run.gateway.address, run.folder / "broker", extra=extra)


def start(run: Path40, hook: Server) -> None:
    folder, at = run.folder, run.addresses
    private_file(folder / "hook.secret", "whsec_" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
    private_file(folder / "hook.header", run.canaries.at("a web hook's header of ours"))
    (folder / "receivers.toml").write_text(
        f'[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "{hook.url}"\nsecrets = ["file:{folder}/hook.secret"]\n'
        f'headers = {{ Authorization = "file:{folder}/hook.header" }}\ncode = "SK*"\n'
    )
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir {(folder / 'events').as_uri()}\n"
    )
    for name in ("events", "tmp"):
        (folder / name).mkdir()
    run.job.start()
    flags = ("--digest-key-file", str(run.job.key), "--request-log", str(folder / "requests.log"))
    run.processes.start("gateway", *run.gateway.arguments(run.internal, f"127.0.0.1:{run.broker_port}", *flags))
    kafka_is = ("--bootstrap-servers", run.internal)
    docs = ("--data-docs-dir", str(folder / "history" / "data-docs"))
    run.processes.start("serve", "serve", *kafka_is, *docs, "--listen", at["serve"], "--history-dir", str(folder / "history"))
    receivers = ("--receivers", str(folder / "receivers.toml"))
    run.processes.start("deliver", "deliver", *kafka_is, *receivers, "--metrics-listen", at["deliver"])
    for name in ("gateway", "serve", "deliver", "stream"):
        run.processes.await_ready(name, f"clientscope {name}: ready", 180)


def plant(run: Path40, user: str) -> None:
    """Everything that clients can write, through the gateway and past it."""
    at = run.canaries.at
    for push in PLANS["push"]:
        settings = [
            (*(text.replace("{}", canary) for text in (key, value)), kind, False)
            for key, value, kind, *where in push["settings"] for canary in [at(*where)]
        ]  # fmt: skip
        run.pushes(push["client_id"], settings)
    harmless: list[Setting] = [("acks", "0", 1, False)]
    for named in PLANS["named"]:
        canary = at(*named["canary"])
        names = {name: text.replace("{}", canary) for name, text in named.items() if name != "canary"}
        run.pushes(settings=harmless, **names)
    with run.client("renamed") as client:
        client.api_versions(at("a name given up again", "gitlab"), "1.0")
        client.api_versions(SOFTWARE, VERSION)
        refused = at("a name that the broker refuses", "assignment")
        client.send(ApiVersionsRequest(version=4, client_software_name=refused, client_software_version="1.0"))
        assert client.receive_frame()[4:6] == (42).to_bytes(2, "big")
    run.pushes("by-user", harmless, user=user)
    run.pushes("by-token", harmless, token=unsecured_token(f"svc-{at('subject of a token', 'github')}"))
    with run.gateway.connect("refused") as client:
        assert run.sign_in(client, PRINCIPAL, at("a wrong SASL password")) == 58
    with run.client("malformed") as client:
        client.api_versions(SOFTWARE, VERSION)
        run.answers.append(str(client.push_config([("", at("push with an empty key"), 1, False)])))
        run.answers.append(str(client.push_config([("notes", at("push that is too large") * 800, 1, False)])))
    # Past the gateway: whoever may write to the topics.
    names = ("client_id", "software_name", "software_version", "principal", "address", "listener")
    raw = [
        config_record(setting("sasl.password", at("raw record: value")), setting(at("raw record: key", "line"), ""), client_id="raw-push")
    ]
    raw += [config_record(setting("acks", "0"), **{name: at(f"raw push: {name}", "aws")}) for name in names]
    events = [connection_record(0, gateway="raw-gateway", client_id="raw-connection")]
    events += [
        connection_record(number, gateway="raw-gateway", **{name: at(f"raw connection: {name}", "gitlab")})
        for number, name in enumerate((*names, "reason", "previous_software_name"), 1)
    ]
    events.append(heartbeat(50, [(at("raw count: name", "aws"), at("raw count: version", "slack"), 1, 1, 0)], gateway="raw-gateway"))
    for topic, values in ((CONFIGS, [*raw, at("no record at all").encode()]), (CONNECTIONS, events)):
        write(run.internal, topic, *((STRAIGHT, value) for value in values))
    # The last push: once its finding is there, all pushes before it have been read.
    custom = ("marker.key", at("a setting that no library has"), 1, False)
    run.pushes(CLIENT_ID, [custom, ("group.id", "marker-value", 1, False), ("sasl.password", at("the marker's own"), 1, False)])


def settle(run: Path40, hook: Server) -> None:
    """Until what was pushed has come through everything."""

    def values(topic: str) -> bytes:
        return b"\n".join(message.value or b"" for message in read_all(run.internal, topic))

    until(lambda: all(name.encode() in values(RESULTS) for name in (CLIENT_ID, "raw-push")))
    until(lambda: CLIENT_ID.encode() in values(FINDINGS))
    until(lambda: any(CLIENT_ID.encode() in got.body for got in hook.got))
    until(lambda: b"clientscope.configs" in values(QUARANTINE))

    def in_history(table: str, column: str, value: str) -> bool:
        place = str(run.folder / "history" / table)
        return deltalake.DeltaTable.is_deltatable(place) and value in deltalake.DeltaTable(place).to_pyarrow_table()[column].to_pylist()

    until(lambda: in_history("pushes", "client_id", CLIENT_ID) and in_history("connections", "client_id", "raw-connection"))
    until(lambda: in_history("gauges", "software_name", SOFTWARE) and in_history("findings", "state", "open"))


def look_while_it_runs(run: Path40, browser: Browser) -> None:
    """All that processes answer."""
    at = run.addresses
    listed = f"http://{run.gateway.admin}/v1/connections"
    until(lambda: SOFTWARE.encode() in run.page(listed))
    run.surface("gateway: /v1/connections", run.page(listed), CLIENT_ID, SOFTWARE, VERSION, PRINCIPAL)
    run.surface("gateway: /metrics", run.page(run.gateway.metrics_url), SOFTWARE, VERSION)
    api = f"http://{at['serve']}/api/v1"
    until(lambda: SOFTWARE.encode() in run.page(f"{api}/gauges"))
    for path, markers in PLANS["api"].items():
        until_now = f"&to={now_ms()}" if path.startswith("history/") else ""  # by default until the last whole minute
        run.surface(f"serve: {path}", run.page(f"{api}/{path}{until_now}"), *markers)
    for each in json.loads(run.page(f"{api}/clients?limit=1000"))["items"]:
        run.surface(f"serve: client {each['key']}", run.page(f"{api}/clients/{urllib.parse.quote(each['key'], safe='')}"))
    for each in json.loads(run.page(f"{api}/findings?limit=1000"))["items"]:
        run.surface(f"serve: finding {each['fingerprint']}", run.page(f"{api}/findings/{each['fingerprint']}"), each["fingerprint"])
    for name, where in {"stream": run.job.page, "serve": f"http://{at['serve']}/", "deliver": f"http://{at['deliver']}/"}.items():
        run.surface(f"{name}: /metrics", run.page(f"{where}metrics"), "clientscope")
    noted = b""
    for path in (run.folder / "checkpoints").rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            noted += path.read_bytes()
    run.surface("checkpoints", noted, CONFIGS, CONNECTIONS)
    spark = f"http://{at['spark']}"
    application = json.loads(run.page(f"{spark}/api/v1/applications"))[0]["id"]
    for name in ("environment", "sql?details=true&length=1000", "stages?details=true", "streaming/statistics", "executors"):
        run.surface(f"Spark: API {name}", run.page(f"{spark}/api/v1/applications/{application}/{name}"))
    for name in ("jobs", "stages", "SQL", "environment", "executors", "StreamingQuery"):
        run.surface(f"Spark: page {name}", run.page(f"{spark}/{name}/"), "clientscope")
    with watched(browser) as opens:
        for view, marker in {"": SOFTWARE, "?view=clients": CLIENT_ID, "?view=findings": CLIENT_ID}.items():
            page = opens(f"http://{at['serve']}/{view}")
            page.get_by_text(marker).first.wait_for()
            run.surface(f"page: {view}", page.content(), marker)


def look_at_topics(run: Path40) -> None:
    with kafka.KafkaConsumer(bootstrap_servers=run.internal) as consumer:
        there = consumer.topics()
    assert {topic.name for topic in TOPICS} <= there
    for topic in sorted(there):
        content = io.BytesIO()
        for message in read_all(run.internal, topic):
            if message.key != STRAIGHT:
                headers = (part for name, value in message.headers for part in (name.encode(), value))
                content.write(b"\n".join((message.key or b"", message.value or b"", *headers, b"")))
        run.surface(f"topic {topic}", content.getvalue(), *PLANS["topics"].get(topic, ()))


def look_at_files(run: Path40) -> None:
    """Whatever lies on the disk, but for the broker's own files and our own secrets; tables also as they read."""
    secret = {run.folder / name for name in ("digest.key", "hook.secret", "hook.header")}
    for path in run.folder.rglob("*"):
        if path.is_file() and path not in secret and path.relative_to(run.folder).parts[0] != "broker":
            content = path.read_bytes()
            if path.suffix == ".parquet":
                content += str(pyarrow.parquet.read_table(path, partitioning=None).to_pylist()).encode()
            run.surface(f"file {path.relative_to(run.folder)}", content)
    for name in ("gateway", "serve", "deliver", "stream"):
        run.surface(f"log of {name} at DEBUG", (run.folder / "logs" / f"{name}.log").read_bytes(), " DEBUG ")
    run.surface("request log", (run.folder / "requests.log").read_bytes(), CLIENT_ID, PRINCIPAL)
    events = [path.read_bytes() for path in (run.folder / "events").rglob("*") if path.is_file()]
    run.surface("Spark's event log", b"".join(events), "SparkListenerSQLExecutionStart", "QueryProgressEvent")
    for table, markers in PLANS["tables"].items():
        rows = deltalake.DeltaTable(str(run.folder / "history" / table)).to_pyarrow_table().to_pylist()
        run.surface(f"table {table}", str(rows), *markers)


@pytest.mark.timeout(420)
def test_f34_forty_canaries_are_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Browser) -> None:
    run = Path40(tmp_path, Canaries())
    user = f"svc-{run.canaries.at('a SASL user name', 'aws')}"
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("verbose")), prepend=os.pathsep)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with ExitStack() as running:
        running.enter_context(EmbeddedBroker(broker_plan(run, user)))
        topics.create(run.internal)
        hook = running.enter_context(serving())
        running.callback(run.processes.stop)
        start(run, hook)
        for _ in range(3):  # more than any other software has, so that it is among those that are named
            running.enter_context(run.client(CLIENT_ID)).api_versions(SOFTWARE, VERSION)
        plant(run, user)
        assert len(run.canaries.by_place) >= 40
        settle(run, hook)
        look_while_it_runs(run, browser)
        time.sleep(3)  # a round of history and of findings more
        run.processes.check()
        run.processes.stop()
        look_at_topics(run)
    look_at_files(run)
    run.surface("answers to clients", "\n".join(run.answers))
    for number, got in enumerate(hook.got):
        run.surface(f"web hook {number}", got.body)
    run.surface("web hooks", b"".join(got.body for got in hook.got), CLIENT_ID)
    unseen = {
        name: missing for name, (content, markers) in run.surfaces.items() if (missing := [m for m in markers if m.encode() not in content])
    }
    assert unseen == {}, "the search has not looked there"
    hits = {name: found for name, (content, _) in run.surfaces.items() if (found := run.canaries.found_in(content))}
    assert hits == {}


def test_f34_the_search_finds_a_canary_however_it_is_written() -> None:
    canaries = Canaries()
    text = canaries.at("here", "aws")
    for content in (
        text,
        text.lower(),
        f'{{"a":"x{text}y"}}',
        *(base64.b64encode(b"x" * n + text.encode()) for n in range(4)),
    ):
        assert canaries.found_in(as_bytes(content)) == ["here"]
    assert canaries.found_in(b"AKIA") == []
    raw = config_record(setting("acks", text)), connection_record(0, client_id=text)
    assert all(canaries.found_in(value) == ["here"] for value in every(raw))
    assert decode(Push, raw[0]).listed()[0].value == decode(ClientConnectionRecord, raw[1]).client_id == text
