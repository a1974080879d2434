"""`clientscope xray` on real brokers: it shows what real clients are set to, and the log level is what it was, whatever is killed (F51)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from conftest import running_broker, running_brokers
from fixed_cluster import plan
from observe import children, make_topic
from patience import LIMIT_S, until

from clientscope.commands.xray.raised import raise_again, raised
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import AdminClient, connected, logger_level, set_logger_level
from clientscope.local.broker import new_cluster_id
from clientscope.local.process import free_port

TOPIC = "orders"
RELEASES = [
    "broker",
    *(pytest.param(name, marks=pytest.mark.matrix) for name in ("broker-2.4", "broker-2.7", "broker-2.8", "broker-3.6", "broker-3.9")),
]


class Cluster:
    """One broker, and where it logs."""

    def __init__(self, internal: str, log: Path, state: Path) -> None:
        self.internal, self.log, self.state = internal, log, state

    def level(self) -> str:
        with closing(connected(KafkaAccess(self.internal))) as admin:
            return logger_level(admin, 1)

    def xray(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "clientscope.cli", "xray", "--bootstrap-servers", self.internal, str(self.log), *words]
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "COLUMNS": "140"}
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip


def running(folder: Path, release: str) -> Iterator[Cluster]:
    with running_broker(folder / "broker", release) as broker:
        make_topic(broker.internal, TOPIC)
        yield Cluster(broker.internal, folder / "broker" / "broker.log", folder / "state")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Cluster]:
    yield from running(folder / "xray", "broker")


@pytest.mark.parametrize("release", RELEASES)
def test_it_shows_real_clients_and_restores_the_level(release: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for cluster in [request.getfixturevalue("cluster")] if release == "broker" else running(tmp_path, release):
        before = cluster.level()
        with (
            kafka.KafkaProducer(
                bootstrap_servers=cluster.internal, client_id="orders-1", acks=0, request_timeout_ms=21_000,
            ) as producer,
            kafka.KafkaConsumer(
                TOPIC, bootstrap_servers=cluster.internal, client_id="billing-1", group_id="billing", fetch_min_bytes=7,
                fetch_max_wait_ms=300, session_timeout_ms=12_000, heartbeat_interval_ms=500,
            ) as consumer,
        ):  # fmt: skip
            running_xray = cluster.xray("--seconds", "3", "--yes", "--output-format", "json")
            while running_xray.poll() is None:
                producer.send(TOPIC, b"x")
                consumer.poll(timeout_ms=200)
                time.sleep(0.1)  # each request is a line of the log
            out, err = running_xray.communicate()
        assert running_xray.returncode == 0, err
        made = json.loads(out)
        shown = {(row["application"], row["client_type"]): row["settings"] for row in made["configurations"]}
        # The log of 2.4 doesn't say the library of a connection that was open before, and so not whose timeout it is.
        timeout = {} if release == "broker-2.4" else {"request.timeout.ms": "21000"}
        assert shown["orders", "producer"] == {"client.id": "orders-1", "acks": "0", **timeout}
        consumer_settings = shown["billing", "consumer"]
        assert consumer_settings | {"fetch.min.bytes": "7", "fetch.max.wait.ms": "300", "group.id": "billing"} == consumer_settings
        affected = {row["code"]: [each["application"] for each in row["affected"]] for row in made["problems"]}
        assert affected["AN101"] == ["orders"]
        assert {"orders", "billing"} == {row["application"] for row in made["readiness"]}, "the run itself is no client"
        (log,) = made["logs"]
        assert log["name"].startswith("broker 1: ")
        assert log["requests"] > 10
        assert log["unreadable"] == 0
        assert "Sets kafka.request.logger to DEBUG on broker 1 for 3 s" in err
        assert cluster.level() == before
        assert list(cluster.state.rglob("*.json")) == []


@pytest.fixture(scope="module")
def of_39(folder: Path) -> Iterator[Cluster]:
    yield from running(folder / "xray-3.9", "broker-3.9")


@pytest.mark.matrix
@pytest.mark.parametrize("how", ["time", "interrupt"])
def test_info_shows_clients_of_removed_versions_alone(how: str, of_39: Cluster) -> None:
    """Whether its time is over or somebody interrupts it, the result has what was seen by then."""
    xray = of_39.xray("--level", "info", "--seconds", "25" if how == "time" else "100000", "--yes", "--output-format", "json")
    until(of_39.level, "INFO")
    pinned = {"api.version.request": "false", "broker.version.fallback": "0.9.0", "log_level": 0}
    old = confluent_kafka.Producer({"bootstrap.servers": of_39.internal, "client.id": "old-1", **pinned})
    with kafka.KafkaProducer(bootstrap_servers=of_39.internal, client_id="new-1") as new:
        while xray.poll() is None:
            old.produce(TOPIC, b"x")
            old.flush(1)
            new.send(TOPIC, b"x")
            if how == "interrupt" and '"clientId":"old-1"' in of_39.log.read_text().rpartition("clientscope-xray-")[2]:
                xray.send_signal(signal.SIGINT)
                break
            time.sleep(0.5)  # a request needs no more often to be logged
    out, err = xray.communicate(timeout=LIMIT_S)
    assert xray.returncode == 0, err
    assert "Sets kafka.request.logger to INFO on broker 1" in err
    made = json.loads(out)
    assert {(row["application"], row["readiness"]) for row in made["readiness"]} == {("old", "breaks")}
    assert [log["at_info"] for log in made["logs"]] == [True]
    assert of_39.level() == "WARN"
    assert list(of_39.state.rglob("*.json")) == []


@pytest.mark.matrix
def test_info_ends_where_no_line_arrives(of_39: Cluster, tmp_path: Path) -> None:
    """Else the silence of days would look like readiness."""
    of_39.log, log = tmp_path / "other.log", of_39.log
    of_39.log.touch()
    xray = of_39.xray("--level", "info", "--seconds", "100000", "--yes")
    _, err = xray.communicate(timeout=LIMIT_S)
    of_39.log = log
    assert xray.returncode == 2
    assert "0 of 1 brokers logged a request of a removed version at INFO" in err
    assert of_39.level() == "WARN"


def test_a_level_that_a_restart_has_lost_is_raised_again(cluster: Cluster) -> None:
    def connect() -> AdminClient:
        return connected(KafkaAccess(cluster.internal))

    try:
        assert [raise_again(connect, 1, "INFO") for _ in range(2)] == [True, False]
        assert cluster.level() == "INFO"
    finally:
        with closing(connect()) as admin:
            set_logger_level(admin, 1, "WARN")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--seconds 1", "no terminal to ask on"),
        ("--level info --yes --seconds 86400", "logs nothing at INFO; 3.9.1 and later 3.9 log what 4.0 removed"),
        ("--level info --yes --seconds 5 --broker-release 3.9.0", "--level info: Kafka 3.9.0 logs nothing at INFO"),
        ("--level info --yes --seconds 5 --broker-release 3.8", "--level info: Kafka 3.8 logs nothing at INFO"),
    ],
)
def test_a_level_that_cannot_be_set_is_one_clear_line(words: str, problem: str, cluster: Cluster) -> None:
    refused = cluster.xray(*words.split())
    out, err = refused.communicate(timeout=LIMIT_S)
    assert (refused.returncode, out) == (2, "")
    assert problem in err and "Traceback" not in err
    assert cluster.level() == "WARN"


@pytest.mark.faults
@pytest.mark.parametrize("problem", [BrokenPipeError("the watchdog is gone"), EnvironmentProblem("refused")])
def test_where_nothing_is_raised_nothing_is_left_to_restore(cluster: Cluster, tmp_path: Path, problem: Exception) -> None:
    def watch(journal: Path) -> None:
        assert journal.read_text()
        raise problem

    def connect() -> AdminClient:
        return connected(KafkaAccess(cluster.internal))

    journal = tmp_path / "journal.json"
    with pytest.raises(EnvironmentProblem), raised(journal, connect, 1, watch, "DEBUG"):
        raise AssertionError("unreachable")
    assert not journal.exists()
    assert cluster.level() == "WARN"


@pytest.mark.faults
def test_two_runs_do_not_disturb_each_other(cluster: Cluster) -> None:
    first = cluster.xray("--seconds", "60", "--yes")
    until(cluster.level, "DEBUG")
    second = cluster.xray("--seconds", "1", "--yes")
    _, err = second.communicate(timeout=LIMIT_S)
    assert second.returncode == 2
    assert "another clientscope xray looks at this broker" in err
    assert cluster.level() == "DEBUG"
    first.terminate()
    first.communicate(timeout=LIMIT_S)
    until(cluster.level, "WARN")


@pytest.mark.faults
def test_a_logger_that_is_at_debug_stays_so(cluster: Cluster) -> None:
    with closing(connected(KafkaAccess(cluster.internal))) as admin:
        set_logger_level(admin, 1, "DEBUG")
        try:
            looked = cluster.xray("--seconds", "1", "--yes", "--output-format", "json")
            looked.communicate(timeout=LIMIT_S)
            assert logger_level(admin, 1) == "DEBUG"
        finally:
            set_logger_level(admin, 1, "WARN")


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_f51_the_level_is_restored_whatever_is_killed(cluster: Cluster) -> None:
    """Kills the run at random moments, mostly with -9; every fourth time the watchdog too, and then the next start restores."""
    chance = random.Random(51)  # noqa: S311  # moments, not secrets
    for number in range(6):
        run = cluster.xray("--seconds", "3", "--yes")
        time.sleep(chance.uniform(0.2, 4.5))
        both = number % 4 == 3
        if both:
            for pid in children(run.pid):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGKILL if number % 3 else signal.SIGTERM)
        run.communicate(timeout=LIMIT_S)
        if both and cluster.level() == "DEBUG":
            again = cluster.xray("--seconds", "0.1", "--yes")
            _, err = again.communicate(timeout=LIMIT_S)
            assert "is back at WARN: an earlier run was killed" in err
        until(cluster.level, "WARN", why=number)
    until(lambda: not list(cluster.state.rglob("*.json")))


@pytest.mark.long  # its watchdog waits for 20 s
def test_f51_a_run_that_is_stopped_does_not_keep_the_level(cluster: Cluster) -> None:
    run = cluster.xray("--seconds", "1", "--yes")
    until(cluster.level, "DEBUG")
    os.kill(run.pid, signal.SIGSTOP)
    try:
        until(cluster.level, "WARN")
    finally:
        os.kill(run.pid, signal.SIGCONT)
        run.communicate(timeout=LIMIT_S)
    assert cluster.level() == "WARN"


@pytest.mark.faults
def test_brokers_are_looked_at_one_after_another(tmp_path: Path) -> None:
    voters, identity = {1: free_port(), 2: free_port()}, new_cluster_id()
    plans = [plan(node, tmp_path, voters, identity, {}) for node in voters]
    with running_brokers(plans):
        bootstrap = plans[0].internal
        with closing(connected(KafkaAccess(bootstrap))) as admin:
            make_topic(bootstrap, TOPIC, 2)
            clusters = Cluster(bootstrap, plans[0].data_dir / "broker.log", tmp_path / "state")
            run = clusters.xray(str(plans[1].data_dir / "broker.log"), "--seconds", "4", "--yes", "--output-format", "json")
            levels = set()
            with kafka.KafkaProducer(bootstrap_servers=bootstrap, client_id="orders-1") as producer:
                while run.poll() is None:
                    for partition in (0, 1):
                        producer.send(TOPIC, b"x", partition=partition)
                    levels.add((logger_level(admin, 1), logger_level(admin, 2)))
            out, err = run.communicate()
            assert run.returncode == 0, err
            assert levels >= {("DEBUG", "WARN"), ("WARN", "DEBUG")}
            assert ("DEBUG", "DEBUG") not in levels
            assert (logger_level(admin, 1), logger_level(admin, 2)) == ("WARN", "WARN")
        made = json.loads(out)
        assert {log["name"].partition(":")[0] for log in made["logs"] if log["requests"]} == {"broker 1", "broker 2"}
        (shown,) = [row for row in made["configurations"] if row["application"] == "orders"]
        assert (shown["clients"], shown["settings"]["acks"]) == (1, "all")
        assert any("Brokers' own connections" in text for text in made["unseen"])
