"""F40: full volumes, names that can't be resolved, a clock that jumps, a slow network that breaks: reported, and nothing damaged."""

from __future__ import annotations

import base64
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from alert_receivers import SECRET, serving
from conftest import RunningBroker, RunningGateway
from cut import Cuttable
from degraded import Clock, Names, clientscope, volume
from every import every
from gauge_rows import of_series
from gauge_rows import rows as gauge_rows_of
from made_findings import leak
from observe import connection_records, counts, make_topic, metrics, page, private_file, push_one, read_all, read_json
from outcome import rows
from patience import LIMIT_S, eventually, meanwhile, until
from programs import running, says
from stream_job import StreamJob

from clientscope.kafka.writer import TopicWriter
from clientscope.local.process import free_port
from clientscope.model.codec import encode_whole
from clientscope.model.enums import Kind
from clientscope.model.topics import CONNECTIONS, FINDINGS, RESULTS
from streaming.gauges import Gauges

pytestmark = pytest.mark.faults

TOPIC = "test.degraded"
NO_SPACE = "No space left on device"


def ready(log: Path, command: list[str], environment: dict[str, str] | None = None) -> Any:
    """A command of ours, once it says so."""
    return running(log, *command, ready=says(log, ": ready"), environment=environment)


def judged(internal: str) -> Counter[str]:
    return Counter(each["client_id"] for each in read_json(internal, RESULTS))


def test_f40_a_full_volume_of_checkpoints_is_named_and_damages_nothing(broker: RunningBroker, tmp_path: Path) -> None:
    """Only the queries that write there stop, and they continue by themselves once there is room; of history: test_parked_queries.py."""
    with volume(tmp_path / "checkpoints", 8) as checkpoints:
        job = StreamJob(broker.internal, tmp_path, "--quality", "off", checkpoints=checkpoints.path)

        def kept() -> Counter[str]:
            return Counter(row["client_id"] for row in rows(job.history, "pushes").values() if str(row["client_id"]).startswith("room-"))

        def is_named() -> bool:
            status, text = page(f"{job.page}readyz")
            return status == 503 and NO_SPACE in text and "live is parked and retried: " in text

        with job.running():
            job.push("room-1")
            until(kept, {"room-1": 1})
            checkpoints.fill()
            job.push("room-2")
            assert eventually(is_named), page(f"{job.page}readyz")
            checkpoints.relieve()
            job.push("room-3")
            until(lambda: page(f"{job.page}readyz"), (200, "ok\n"))
            until(lambda: judged(broker.internal)["room-2"] and judged(broker.internal)["room-3"])
            until(kept, {"room-1": 1, "room-2": 1, "room-3": 1}, why="each push is one row, however often its batch was tried")


def test_f40_names_that_are_lost_are_said_and_found_again(broker: RunningBroker, tmp_path: Path) -> None:
    """The gateway's broker and a web hook's host, by names; who is connected stays connected."""
    names = Names(tmp_path, ("broker.f40.test", "hook.f40.test"))
    gateway, metrics_listen = RunningGateway(f"127.0.0.1:{free_port()}"), f"127.0.0.1:{free_port()}"
    internal, upstream = (f"broker.f40.test:{address.split(':')[1]}" for address in (broker.internal, broker.client))
    private_file(tmp_path / "secret", "whsec_" + base64.b64encode(SECRET).decode())
    with serving() as hook, ExitStack() as running:
        (tmp_path / "receivers.toml").write_text(
            f'[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "http://hook.f40.test:{hook.port}/x"\n'
            f'secrets = ["file:{tmp_path}/secret"]\ncode = "F40*"\n'
        )
        deliver = names.command(*clientscope(
            "deliver", "--bootstrap-servers", broker.internal, "--receivers", str(tmp_path / "receivers.toml"),
            "--metrics-listen", metrics_listen,
        ))  # fmt: skip
        running.enter_context(ready(tmp_path / "gateway.log", names.command(*clientscope(*gateway.arguments(internal, upstream)))))
        running.enter_context(ready(tmp_path / "deliver.log", deliver))
        before = running.enter_context(gateway.named("before"))

        names.lose()

        def turned_away() -> bool:
            try:
                gateway.named("meanwhile").close()
            except OSError:
                return True
            return False

        assert turned_away()
        unready = "the broker took no connection: "
        until(lambda: gateway.probe("readyz")[1].startswith(unready) and gateway.probe("readyz")[0] == 503)
        assert gateway.probe("healthz") == (200, "ok\n")
        assert any(counts(gateway, "upstream_failures").values())
        before.api_versions("before", "1.0")
        with closing(TopicWriter(broker.internal, FINDINGS)) as writer:
            finding = leak(0xF40, code="F401")
            writer.write({finding.fingerprint: encode_whole(finding)})
        failing = ("clientscope_deliver_receiver_failing", "hook")
        until(lambda: metrics(f"http://{metrics_listen}/metrics").get(failing), 1)
        assert hook.got == []

        names.restore()
        until(lambda: not turned_away())
        until(lambda: gateway.probe("readyz"), (200, "ok\n"))
        until(lambda: len(hook.got) >= 1 and metrics(f"http://{metrics_listen}/metrics").get(failing) == 0)
        assert len({got.headers["webhook-id"] for got in hook.got}) == 1
        before.api_versions("before", "1.0")
    with closing(TopicWriter(broker.internal, FINDINGS)) as writer:
        writer.write({finding.fingerprint: None})


def gauges_of(internal: str, gateway_id: str) -> dict[str, int]:
    """What the job makes of one gateway's records, in their order."""
    messages = [(message.value, message.timestamp) for message in read_all(internal, CONNECTIONS) if message.key == gateway_id.encode()]
    changes = Gauges({}, 0.0).apply(gauge_rows_of(messages), 0.0)
    return {value["software_name"]: value["connections"] for value in of_series(changes) if value["connections"]}


def test_f40_a_clock_that_jumps_leaves_gauges_true_and_is_named_where_it_has_gone_back(broker: RunningBroker, tmp_path: Path) -> None:
    """An hour ahead, a day back, and a new start on that clock: by epoch and sequence the newest is known, whatever the times."""
    clock, gateway, name = Clock(tmp_path), RunningGateway(f"127.0.0.1:{free_port()}"), "gateway-f40-clock"
    command = clientscope(*gateway.arguments(broker.internal, broker.client, "--gateway-id", name))

    def beats() -> int:
        return len(connection_records(broker.internal, name, kind=Kind.HEARTBEAT))

    def opened(number: int, run: ExitStack) -> None:
        for _ in range(number):
            run.enter_context(gateway.named("timeless"))

    with ExitStack() as run:
        run.enter_context(ready(tmp_path / "first.log", command, clock.environment))
        for jump, expected in ((0, 2), (3_600, 4), (-86_400, 6)):
            clock.jump(jump)
            opened(2, run)
            after = beats()
            until(lambda after=after: beats() > after + 2, why="its heart beats on")  # type: ignore[misc]
            assert gauges_of(broker.internal, name) == {"timeless": expected}
            assert gateway.probe("healthz") == gateway.probe("readyz") == (200, "ok\n")
    metrics_listen = connection_records(broker.internal, name)
    assert [record.sequence for record in metrics_listen] == list(range(len(metrics_listen))), "none missing, none twice"
    times = [record.timestamp_ms for record in metrics_listen]
    assert max(times) - min(times) > 86_400_000, "the clock did jump"
    assert all(entry.connections >= 0 for record in every(metrics_listen) for entry in record.counts)

    first_epoch = metrics_listen[0].epoch
    with ExitStack() as run:
        run.enter_context(ready(tmp_path / "second.log", command, clock.environment))
        assert "behind the last start of this gateway; is it right?" in (tmp_path / "second.log").read_text()
        opened(1, run)
        until(lambda: gauges_of(broker.internal, name), {"timeless": 1}, why="a new start counts anew")
    assert connection_records(broker.internal, name)[-1].epoch > first_epoch


@pytest.mark.long
def test_f40_a_slow_network_that_breaks_loses_and_repeats_nothing(own: RunningBroker, tmp_path: Path) -> None:
    """200±100 ms each way between gateway and broker, connections reset meanwhile; an idempotent producer, and a consumer.

    With a broker of its own: at the address that the shared one advertises, another module's gateway may listen.
    """
    host, port = own.client.split(":")
    least, count = 300, 0
    make_topic(own.internal, TOPIC)
    with (
        Cuttable((host, int(port)), delay_ms=(100, 300)) as slow,
        own.gateway(tmp_path, "--gateway-id", "gateway-f40-slow", advertised=True, upstream=slow.address) as gateway,
    ):
        acknowledged: list[int] = []
        failures: list[Any] = []
        producer = confluent_kafka.Producer({
            "bootstrap.servers": gateway.address, "client.id": "slowly", "enable.idempotence": True, "linger.ms": 50,
            "message.timeout.ms": 120_000, "reconnect.backoff.max.ms": 500,
        })  # fmt: skip

        def done(error: Any, message: Any) -> None:
            failures.append(error) if error else acknowledged.append(int(message.value()))

        with meanwhile(slow.break_one, 1.5):
            while count < least or (slow.broken < 2 and count < 100 * least):  # on a fast machine the least is soon sent
                producer.produce(TOPIC, str(count).encode(), partition=0, on_delivery=done)
                count += 1
                producer.poll(0.02)
            assert producer.flush(LIMIT_S) == 0
        assert not failures and slow.broken >= 2, (count, slow.broken, failures[:3])
        assert acknowledged == list(range(count))
        found = [int(message.value) for message in read_all(own.internal, TOPIC)]
        assert found == list(range(count)), "each once, in order"
        with gateway.named("still-here") as client:
            assert push_one(client) == 0
            until(lambda: gauges_of(own.internal, "gateway-f40-slow").get("still-here"), 1)
        del producer
        until(lambda: gauges_of(own.internal, "gateway-f40-slow"), {}, why="what broke was closed, and counted so")
        assert gateway.probe("readyz") == (200, "ok\n")
    metrics_listen = connection_records(own.internal, "gateway-f40-slow")
    assert [record.sequence for record in metrics_listen] == list(range(len(metrics_listen)))
    assert Counter(record.kind for record in metrics_listen)[Kind.OPENED] == Counter(record.kind for record in metrics_listen)[Kind.CLOSED]
