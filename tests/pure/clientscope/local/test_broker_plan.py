"""A broker's configuration: of a single one, and of one of several."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from clientscope.errors import EnvironmentProblem
from clientscope.local import broker, jars
from clientscope.local.broker import BrokerPlan, new_cluster_id

ALONE = BrokerPlan(1001, 1002, "gateway:9092", Path("data"))


def test_one_node_is_its_own_quorum() -> None:
    properties = ALONE.properties(1003)
    assert properties["node.id"] == "1"
    assert properties["controller.quorum.bootstrap.servers"] == "127.0.0.1:1003"
    assert "controller.quorum.voters" not in properties
    assert properties["advertised.listeners"] == "CLIENT://gateway:9092,INTERNAL://127.0.0.1:1002"


def test_one_of_several_takes_its_controller_port_from_the_voters() -> None:
    plan = BrokerPlan(1001, 1002, "gateway:9092", Path("data"), node_id=2, voters={1: 2001, 2: 2002}, cluster_id=new_cluster_id())
    properties = plan.properties(1003)
    assert properties["node.id"] == "2"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:2001,2@127.0.0.1:2002"
    assert properties["listeners"].endswith("CONTROLLER://127.0.0.1:2002")
    assert "controller.quorum.bootstrap.servers" not in properties


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        ("Exception in thread x: a\n\tat b\nCaused by: x.ConfigException: taken\n\t... 8 more\n", "Caused by: x.ConfigException: taken"),
        ("log4j says\njava.io.IOException: no space\n\tat c\n", "java.io.IOException: no space"),
        ("it is\nnot so\n", "not so"),
        ("", "it said nothing"),
    ],
)
def test_the_error_that_ended_kafka_is_reported(trace: str, cause: str) -> None:
    assert broker.java_cause(trace) == cause


def test_extra_properties_override() -> None:
    plan = BrokerPlan(1001, 1002, "gateway:9092", Path("data"), extra={"num.partitions": "7", "ssl.client.auth": "required"})
    properties = plan.properties(1003)
    assert (properties["num.partitions"], properties["ssl.client.auth"]) == ("7", "required")
    assert properties.keys() - ALONE.properties(1003).keys() == {"ssl.client.auth"}


@pytest.mark.parametrize(("node_id", "cluster_id"), [(3, "AAAAAAAAAAAAAAAAAAAAAA"), (1, "")])
def test_a_quorum_without_this_node_or_without_a_shared_id_is_refused(node_id: int, cluster_id: str) -> None:
    with pytest.raises(ValueError, match="quorum"):
        BrokerPlan(1001, 1002, "gateway:9092", Path("data"), node_id=node_id, voters={1: 2001, 2: 2002}, cluster_id=cluster_id)


def test_a_broker_of_zookeepers_has_no_quorum() -> None:
    properties = BrokerPlan(1001, 1002, "gateway:9092", Path("data"), zookeeper="127.0.0.1:2181").properties(1003)
    assert (properties["broker.id"], properties["zookeeper.connect"]) == ("1", "127.0.0.1:2181")
    assert properties["listeners"] == "CLIENT://127.0.0.1:1001,INTERNAL://127.0.0.1:1002"
    assert not {key for key in properties if key.startswith(("controller.", "process.", "node."))}
    with pytest.raises(ValueError, match="not both"):
        BrokerPlan(1001, 1002, "gateway:9092", Path("data"), zookeeper="127.0.0.1:2181", voters={1: 2001}, cluster_id=new_cluster_id())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jars, and the lock that has their digests."""
    folder, lock = tmp_path / "jars", tmp_path / "jars.sha256"
    (folder / "spark").mkdir(parents=True)
    lines = []
    for name in ("one.jar", "two.jar"):
        (folder / "spark" / name).write_bytes(name.encode() * 100_000)
        lines.append(f"{hashlib.sha256(name.encode() * 100_000).hexdigest()}  spark/{name}\n")
    lock.write_text("".join(lines))
    monkeypatch.setenv("CLIENTSCOPE_JARS", str(folder))
    monkeypatch.setattr(jars, "LOCK", lock)
    return folder / "spark"


def test_jars_as_they_were_locked_are_found(cache: Path) -> None:
    assert jars.jars("spark") == [cache / "one.jar", cache / "two.jar"]


def test_a_jar_that_was_changed_is_not_used(cache: Path) -> None:
    """Also where its size and its time are as before."""
    assert jars.jars("spark")
    jar = cache / "two.jar"
    content, stat = bytearray(jar.read_bytes()), jar.stat()
    content[-1] ^= 1
    jar.write_bytes(content)
    os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(EnvironmentProblem, match=r"two\.jar was changed after it was downloaded") as caught:
        jars.jars("spark")
    assert f"rm {jar}" in str(caught.value.hint)
