"""Topics that were created aren't known to every broker at once."""

from __future__ import annotations

from typing import Any

import pytest
from golden import cases

from clientscope import topics
from clientscope.errors import EnvironmentProblem
from clientscope.model.topics import BY_NAME, CONNECTIONS, TELEMETRY, USED_BY, used_by


class LateCluster:
    """Brokers by what `topics.create` asks of them: so many answers come from one that has not heard of the topic.

    Args:
        late_settings: so many answers about its settings do; kafka-python tells them as a topic without any.
    """

    def __init__(self, late: int, late_settings: int = 0) -> None:
        self.late, self.late_settings, self.created = late, late_settings, False

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        known = self.created and self.late <= 0
        self.late -= self.created
        return [{"name": name, "error_code": 0 if known else 3} for name in names]

    def create_topics(self, new: dict[str, Any], wait_for_metadata: bool) -> None:
        self.created = True

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[str, Any]:
        self.late_settings -= 1
        known = BY_NAME[CONNECTIONS].required_configs.items() if self.late_settings < 0 else ()
        return {"topic": {CONNECTIONS: {key: {"value": value} for key, value in known}}}

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("late", "late_settings"), [(2, 0), (0, 2)])
def test_it_returns_once_they_and_their_settings_are_known(monkeypatch: pytest.MonkeyPatch, late: int, late_settings: int) -> None:
    cluster = LateCluster(late, late_settings)
    monkeypatch.setattr(topics, "connected", lambda kafka: cluster)
    assert topics.create("127.0.0.1:1", names=[CONNECTIONS]) == [CONNECTIONS]
    assert cluster.late < 0 and cluster.late_settings < 0


def test_verify_does_not_blame_settings_that_a_broker_does_not_know_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LateCluster(late=0, late_settings=1)
    cluster.created = True
    monkeypatch.setattr(topics, "connected", lambda kafka: cluster)
    with pytest.raises(EnvironmentProblem, match="a broker doesn't know all topics yet"):
        topics.verify("127.0.0.1:1", reads=[CONNECTIONS])


def test_it_gives_up_where_they_never_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "connected", lambda kafka: LateCluster(late=10**9))
    monkeypatch.setattr(topics, "KNOWN_S", 0.2)
    with pytest.raises(EnvironmentProblem, match="are missing"):
        topics.create("127.0.0.1:1", names=[CONNECTIONS])


@pytest.mark.parametrize(("retention_ms", "accepted"), cases(__file__, "retention.txt"))
def test_f47_a_topic_may_keep_its_records_for_longer_than_it_has_to(
    monkeypatch: pytest.MonkeyPatch, retention_ms: str, accepted: str
) -> None:
    cluster = LateCluster(late=0)
    cluster.created = True
    configs = {key: {"value": value} for key, value in BY_NAME[CONNECTIONS].required_configs.items()} | {
        "retention.ms": {"value": retention_ms}
    }
    monkeypatch.setattr(cluster, "describe_configs", lambda resources, config_filter: {"topic": {CONNECTIONS: configs}})
    monkeypatch.setattr(topics, "connected", lambda kafka: cluster)
    if accepted == "yes":
        assert topics.create("127.0.0.1:1", names=[CONNECTIONS]) == []
    else:
        with pytest.raises(EnvironmentProblem, match=rf"has retention.ms={retention_ms}, not 604800000"):
            topics.create("127.0.0.1:1", names=[CONNECTIONS])


def test_with_client_telemetry_gateways_write_its_topic_and_the_job_reads_it() -> None:
    assert {process: used_by(process, False) for process in USED_BY} == USED_BY
    with_it = {process: used_by(process, True) for process in USED_BY}
    assert with_it.pop("gateway").writes == (*USED_BY["gateway"].writes, TELEMETRY)
    assert with_it.pop("stream").reads == (*USED_BY["stream"].reads, TELEMETRY)
    assert with_it == {process: use for process, use in USED_BY.items() if process not in ("gateway", "stream")}
