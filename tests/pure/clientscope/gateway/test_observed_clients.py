"""gateway/observed_clients: connections of one client are one client, its records are redacted, and a client can't make many of them."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from alert_receivers import message
from fleets import KEY, Fleet, pushed
from golden import cases
from request_contexts import PLACE, Counts

from clientscope.gateway import observed_clients
from clientscope.gateway.observed_clients import MOST_VALUES, REPEAT_S, SETTLE_S, UNSHOWN_S, ObservedClients
from clientscope.gateway.quota import PushQuota, PushRate
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.model.codec import decode, encode, encode_whole
from clientscope.model.enums import Origin
from clientscope.model.finding import Finding
from clientscope.model.push import Push
from clientscope.model.setting import Redaction
from clientscope.session.state import Identity, RequestFields
from sinks.alerts.message import Texts

JAVA = Identity("orders-1", "apache-kafka-java", "4.4.0", principal="User:ANONYMOUS")
PRODUCED = RequestFields(0, 9, (("acks", "1"), ("timeoutMs", "21000")))
JOINED = RequestFields(11, 9, (("groupId", "g"), ("sessionTimeoutMs", "12000"), ("protocolType", "consumer")))
FETCHED = RequestFields(1, 13, (("maxWaitMs", "400"), ("minBytes", "7")))
METADATA = RequestFields(3, 12, (("allowAutoTopicCreation", "false"),))
MANY = PushRate(1e9, 1_000_000_000)


class Observed:
    """With a registry of its own."""

    def __init__(self, rate: PushRate = MANY, in_all: PushRate = MANY) -> None:
        self.registry = ConnectionRegistry(PLACE)
        self.counts = Counts()
        self.published: list[tuple[str, Push]] = []
        self.room = True
        self.has_rack = False
        quota = PushQuota({"quota_all": in_all, "quota_address": MANY, "quota_principal": MANY, "quota": rate})
        self.clients = ObservedClients(self.registry, quota, self._publish, self.counts, lambda: self.has_rack, lambda: 1_234)
        self.now_s = 0.0
        self.turns = 0

    def _publish(self, key: str, value: bytes) -> bool:
        if self.room:
            self.published.append((key, decode(Push, value)))
        return self.room

    def connect(self, number: int, *requests: RequestFields, identity: Identity = JAVA, address: str = "10.0.0.1") -> None:
        self.registry.opened(number, address, 1, identity)
        for request in requests:
            self.clients.showed(number, request, self.now_s)

    def close(self, number: int) -> None:
        self.clients.closed(number, self.now_s)
        self.registry.closed(number, "client_closed", 2)

    def wait(self, seconds: float = SETTLE_S) -> None:
        self.now_s += seconds
        while self.clients.record(self.now_s):
            self.turns += 1

    def rename(self, number: int, identity: Identity) -> None:
        self.registry.identified(number, identity, 2)
        self.clients.identified(number, self.now_s)

    def taken_of(self, key: str) -> list[str]:
        """Values of a setting in the records since the last call."""
        return [each[key] for each in self.taken()]

    def taken(self) -> list[dict[str, str]]:
        """The settings of the records since the last call."""
        records, self.published = self.published, []
        return [{each.key: each.value for each in record.listed()} for _, record in records]


@pytest.fixture
def observed() -> Observed:
    return Observed()


def test_a_clients_connections_make_one_record(observed: Observed) -> None:
    observed.connect(1, JOINED, METADATA)
    observed.connect(2, FETCHED)
    observed.wait(SETTLE_S - 1)
    assert not observed.published
    observed.wait(1)
    ((key, record),) = observed.published
    assert record.origin == Origin.OBSERVED
    assert (record.connection, record.gateway, record.received_ms) == (2, "gateway-1", 1_234)
    assert key.startswith(str(record.instance_id))
    assert observed.taken() == [
        {
            "allow.auto.create.topics": "false", "client.id": "orders-1", "fetch.max.wait.ms": "400", "fetch.min.bytes": "7",
            "group.id": "g", "session.timeout.ms": "12000",
        }
    ]  # fmt: skip
    observed.wait()
    assert not observed.published


@pytest.mark.parametrize(
    ("requests", "clients"),
    [((PRODUCED, JOINED), 2), ((METADATA,), 0), ((RequestFields(1, 12, (("replicaId", "2"), ("minBytes", "1"))),), 0)],
    ids=["a producer and a consumer of one name", "no type is shown", "a broker that fetches as a replica"],
)
def test_each_type_of_client_is_recorded(observed: Observed, requests: tuple[RequestFields, ...], clients: int) -> None:
    observed.connect(1, *requests)
    observed.wait()
    assert len({key for key, _ in observed.published}) == clients


def test_several_values_are_a_set_and_many_are_cut(observed: Observed) -> None:
    for number in range(3):
        observed.connect(number, PRODUCED._replace(fields=(("acks", str(number - 1)),)))
    observed.wait()
    assert observed.taken()[0]["acks"] == "0 | 1 | all"
    for number in range(20):
        observed.connect(10 + number, JOINED._replace(fields=(("groupId", f"g{number:02}"), ("protocolType", "consumer"))))
    observed.wait()
    groups = observed.taken()[0]["group.id"].split(" | ")
    assert (len(groups), groups[-1]) == (MOST_VALUES + 1, "…")


def test_a_setting_of_a_closed_connection_is_still_the_clients_until_another_shows_it(observed: Observed) -> None:
    observed.connect(1, JOINED)
    observed.connect(2, FETCHED)
    observed.wait()
    observed.close(1)
    observed.connect(3, FETCHED._replace(fields=(("maxWaitMs", "500"),)))
    observed.wait()
    assert [(each["session.timeout.ms"], each["fetch.max.wait.ms"]) for each in observed.taken()] == [
        ("12000", "400"),
        ("12000", "400 | 500"),
    ]
    observed.close(2)
    observed.connect(4, JOINED._replace(fields=(("sessionTimeoutMs", "20000"), ("protocolType", "consumer"))))
    observed.wait()
    assert [(each["session.timeout.ms"], each["fetch.max.wait.ms"]) for each in observed.taken()] == [("20000", "500")]


def test_of_closed_connections_the_newest_requests_are_kept_and_the_others_counted(observed: Observed) -> None:
    observed.connect(1, JOINED)
    for number in range(2, 20):
        observed.connect(number, RequestFields(1, 11, (("minBytes", str(number)),)))
    for number in range(2, 20):
        observed.close(number)
    assert observed.counts == {("settings_unread", "most_earlier"): 2}
    observed.wait()
    assert observed.taken()[0]["fetch.min.bytes"] == "19", "the last one, since a later one takes an earlier one's place"


def test_what_a_first_connection_showed_counts_once_it_is_known_what_the_client_is(observed: Observed) -> None:
    observed.connect(1, METADATA)
    observed.connect(2, JOINED)
    observed.close(1)
    observed.wait()
    assert observed.taken()[0]["allow.auto.create.topics"] == "false"


@pytest.mark.parametrize(("has_rack", "rack", "expected"), [(True, "", ""), (False, "", None), (True, "eu-1", "eu-1")])
def test_that_a_consumer_has_no_rack_is_recorded_where_its_broker_has_one(
    observed: Observed, has_rack: bool, rack: str, expected: str | None
) -> None:
    observed.has_rack = has_rack
    observed.connect(1, FETCHED._replace(fields=(("minBytes", "7"), ("rackId", rack))))
    observed.wait()
    assert observed.taken()[0].get("client.rack") == expected


def test_a_client_that_comes_back_is_recorded_again_only_after_a_while_or_with_other_settings(observed: Observed) -> None:
    for number in range(10):
        observed.connect(number, PRODUCED)
        observed.wait()
        observed.close(number)
    assert len(observed.taken()) == 1
    observed.wait(REPEAT_S)
    observed.connect(20, PRODUCED)
    observed.wait()
    observed.connect(21, PRODUCED._replace(fields=(("acks", "0"),)))
    observed.wait()
    assert observed.taken_of("acks") == ["1", "0 | 1"]


def test_a_client_that_leaves_early_is_recorded_as_it_leaves(observed: Observed) -> None:
    observed.connect(1, PRODUCED)
    observed.close(1)
    assert observed.taken_of("acks") == ["1"]


def test_a_name_that_comes_later_counts_from_the_beginning(observed: Observed) -> None:
    observed.connect(1, PRODUCED, identity=replace(JAVA, software_name="unknown", software_version="unknown"))
    observed.rename(1, JAVA)
    observed.wait()
    assert [(record.software_name, len(record.listed())) for _, record in observed.published] == [("apache-kafka-java", 3)]


def test_records_wait_for_the_quota_and_for_room() -> None:
    observed = Observed(PushRate(0.1, 1))
    observed.connect(1, PRODUCED)
    observed.wait()
    observed.connect(2, PRODUCED._replace(fields=(("acks", "0"),)))
    observed.wait()
    assert observed.taken_of("acks") == ["1"]
    assert observed.counts == {("observed_held", "quota"): 1}
    observed.room = False
    observed.wait(10)
    observed.room = True
    observed.wait(10)
    assert observed.taken_of("acks") == ["0 | 1"]


def test_many_clients_take_turns_and_stop_where_all_have_no_more_room(observed: Observed) -> None:
    for number in range(120):
        observed.connect(number, PRODUCED, identity=replace(JAVA, client_id=f"c{number}"))
    observed.wait()
    assert (len(observed.published), observed.turns) == (120, 2)
    few = Observed(in_all=PushRate(10.0, 10))
    for number in range(100):
        few.connect(number, PRODUCED, identity=replace(JAVA, client_id=f"c{number}"))
    few.wait()
    assert (len(few.published), few.counts) == (10, {("observed_held", "quota_all"): 1})
    for _ in range(20):
        few.wait(1)
    assert len({key for key, _ in few.published}) == 100


def test_what_is_kept_of_one_tenant_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed_clients, "MOST_OF_TENANT", 5)
    observed = Observed()
    for number in range(10):
        observed.connect(number, PRODUCED, identity=replace(JAVA, client_id=f"c{number}"))
    observed.connect(100, PRODUCED, address="10.0.0.2")
    observed.wait()
    assert observed.counts == {("settings_unread", "most_kept"): 5}
    assert {record.address for _, record in observed.published} == {"10.0.0.1", "10.0.0.2"}
    observed.registry.identified(100, replace(JAVA, client_id="renamed"), 2)
    monkeypatch.setattr(observed_clients, "MOST_KEPT", 5)
    observed.clients.identified(100, observed.now_s)
    observed.wait()
    for number in [*range(10), 100]:
        observed.close(number)
    monkeypatch.setattr(observed_clients, "MOST_KEPT", 10)
    observed.connect(200, PRODUCED, identity=replace(JAVA, client_id="later"))
    observed.wait()
    assert observed.published[-1][1].client_id == "later"
    assert not observed.clients._kept[("@10.0.0.2")]


def test_what_a_clients_metrics_show_is_among_what_its_producer_has_shown(observed: Observed) -> None:
    pushed = RequestFields(72, 0, (("bufferTotalBytes", "33554433"),))
    observed.connect(1, pushed)
    assert observed.clients.has_shown(1, 72) and not observed.clients.has_shown(1, 0) and not observed.clients.has_shown(2, 72)
    observed.wait()
    assert not observed.published, "it may be of any client"
    observed.connect(2, PRODUCED)
    observed.wait()
    ((_, record),) = observed.published
    assert {each.key: each.value for each in record.listed()} == {
        "client.id": "orders-1", "acks": "1", "request.timeout.ms": "21000", "buffer.memory": "33554433",
    }  # fmt: skip


TOKEN = f"ghp_{'a1B2' * 9}"
SECRET = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9/bC2eF4hJ6kM8nP0rS2uV4xY6+aD8gJ0mQ2tW"
KEY_AND_SECRET = f"ABCDEFGH12345678/{SECRET}"
LEAKING = {
    "client.id": [
        replace(JAVA, client_id=name)
        for name in (
            TOKEN, f"orders-{TOKEN}-0", KEY_AND_SECRET, f"ABCDEFGH12345678:{SECRET}", f"orders-{KEY_AND_SECRET}",
            "AKIAIOSFODNN7EXAMPLE/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        )
    ],
    "client.software.name": [replace(JAVA, software_name=TOKEN)],
    "client.software.version": [replace(JAVA, software_version=f"1.0-{TOKEN}")],
    "principal": [replace(JAVA, principal=f"User:{TOKEN}")],
}  # fmt: skip


def leak_of(record: bytes) -> Finding:
    """What the job finds in it."""
    fleet = Fleet()
    fleet.engine.apply(pushed([(fleet.now, record)]))
    fleet.write()
    return fleet.one("SK002")


@pytest.mark.parametrize(("key", "identity"), [(key, identity) for key, identities in LEAKING.items() for identity in identities])
@pytest.mark.parametrize("requests", [(), (PRODUCED,), (JOINED, FETCHED)])
def test_alerts_to_a_credential_in_a_name(observed: Observed, key: str, identity: Identity, requests: tuple[RequestFields, ...]) -> None:
    """Of a client that pushes nothing: from its connection to the finding and the alert, which never show it."""
    observed.registry.names.key = KEY
    observed.registry.opened(1, "10.0.0.1", 1)
    observed.rename(1, identity)
    for request in requests:
        observed.clients.showed(1, request, observed.now_s)
    observed.wait(UNSHOWN_S)
    ((_, record),) = observed.published
    value = encode(record)
    (hidden,) = [each for each in record.listed() if each.key == key]
    (name,) = set(astuple(identity)) - set(astuple(JAVA))
    assert (hidden.value, hidden.redacted) == (None, Redaction("value_shape", len(name), KEY.digest(name).hex()))
    finding = leak_of(value)
    assert (finding.severity, finding.kind, finding.state) == ("critical", "leak", "open") and finding.alert
    assert [each.key for each in finding.settings] == [key]
    text = Texts().body(message(finding))
    assert key in text
    for secret in (TOKEN, SECRET, "wJalrXUtnFEMI"):
        if secret in name:
            assert secret.encode() not in value
            assert secret not in encode_whole(finding).decode() + text


def test_counts_a_leaked_name_until_it_is_gone(observed: Observed) -> None:
    observed.connect(1, PRODUCED)
    observed.rename(1, replace(JAVA, client_id=TOKEN))
    observed.wait()
    assert [settings["client.id"] for settings in observed.taken()] == [None]
    observed.rename(1, JAVA)
    observed.wait()
    ((_, record),) = observed.published
    assert "client.id" not in record.redacted
    assert not observed.registry.leaks(1)
    observed.close(1)


@pytest.mark.parametrize("name", [name for (name,) in cases(__file__, "ordinary_names.txt")])
@pytest.mark.parametrize("field", ["client_id", "software_name", "software_version", "principal"])
def test_an_ordinary_name_is_no_leak(observed: Observed, field: str, name: str) -> None:
    observed.registry.opened(1, "10.0.0.1", 1, replace(JAVA, **{field: name}))
    observed.clients.identified(1, observed.now_s)
    observed.wait()
    assert not observed.published and not observed.registry.leaks(1)


@pytest.mark.parametrize("field", ["groupId", "transactionalId"])
def test_a_credential_in_a_requests_name_is_a_leak(field: str) -> None:
    others = (("sessionTimeoutMs", "12000"), ("protocolType", "consumer")) if field == "groupId" else (("acks", "-1"),)
    request = RequestFields(11 if field == "groupId" else 0, 9, ((field, TOKEN), *others))
    observed = Observed()
    observed.connect(1, request)
    observed.wait()
    ((_, record),) = observed.published
    assert [each.reason for each in record.redacted.values()] == ["value_shape"]
    finding = leak_of(encode(record))
    assert finding.severity == "critical" and TOKEN.encode() not in encode_whole(finding)
