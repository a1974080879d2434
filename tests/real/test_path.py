"""One push, end to end: client, gateway, topic, Spark, result, history and page; and data that must never come through."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import deltalake
import jsonschema
import pyarrow.parquet
from dashboards import queries, rules
from every import every
from forked import printed
from observe import becomes, counts, files_below, java_below, make_topic, metrics, newest, page, push_one, read_all, write
from outcome import quarantined
from patience import LIMIT_S, until
from real_prometheus import prometheus
from record_bytes import config_record, setting

from clientscope.client import KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.clock import now_ms
from clientscope.model.topics import BY_NAME, CONFIGS, CONNECTIONS, DECISIONS, FINDINGS, GAUGES, QUARANTINE, RESULTS, TELEMETRY
from sinks.dashboard.past.pushes import Whose, differences, starts
from sinks.dashboard.past.tables import Span, Tables

CANARY = "canary-path-83b1"
TOPIC = "test.path"
BROKER = b'"broker":1'


def gauges(installation: Any) -> dict[tuple[str, str], int]:
    """Connections by software name and version, as the topic has them; those at zero left out."""
    rows = [json.loads(value) for value in newest(installation.internal, GAUGES).values() if value is not None]
    clients = [row for row in rows if row.get("listener") == "CLIENT"]  # a gateway's own row has none
    return {(row["software_name"], row["software_version"]): row["connections"] for row in clients if row["connections"]}


def results(installation: Any, client_id: str) -> list[dict[str, Any]]:
    rows = [json.loads(message.value) for message in read_all(installation.internal, RESULTS) if message.value is not None]
    return [row for row in rows if row["client_id"] == client_id]


def outcomes(row: dict[str, Any]) -> dict[str, str]:
    fired = {rule["code"]: "fired" for rule in row.get("rules", [])}
    return fired | {code: outcome for outcome in ("passed", "not_evaluable") for code in row.get(outcome, [])}


def in_history(installation: Any, column: str = "client_id", client_id: str = "", table: str = "pushes") -> list[Any]:
    """A column of a table of history, of one client or of all; empty before the table's first commit."""
    folder = str(installation.data_dir / "history" / table)
    if not deltalake.DeltaTable.is_deltatable(folder):
        return []
    filters = [("client_id", "=", client_id)] if client_id else None
    return deltalake.DeltaTable(folder).to_pyarrow_table(columns=[column], filters=filters)[column].to_pylist()  # type: ignore[no-any-return]


@contextmanager
def held_open(installation: Any, names: list[str]) -> Iterator[list[RawClient]]:
    clients = [installation.gateway.named("held", name, "1.0") for name in names]
    yield clients
    for client in clients:
        client.close()


def test_each_start_of_a_producer_is_a_result_a_row_of_history_and_a_line_on_the_page(installation: Any) -> None:
    """Its gateway also records what it sees of its requests."""
    since_ms, name = now_ms(), "path-producer"
    make_topic(installation.internal, TOPIC)

    def of(origin: str) -> list[dict[str, Any]]:
        return [row for row in results(installation, name) if row["origin"] == origin]

    for number, batch_size in enumerate((1_000_000, 16_384), 1):
        with KafkaProducer(bootstrap_servers=installation.gateway.address, client_id=name, acks=0, batch_size=batch_size) as producer:
            producer.send(TOPIC, b"x").get(LIMIT_S)
            until(lambda: len(of("pushed")), number)
            row = of("pushed")[-1]
            assert (row["software_name"], row["redacted_count"]) == ("kafka-python", 0)
            assert row["instance_id"] == str(producer.client_instance_id)
            said = outcomes(row)
            assert (said["SK001"], said["AN101"]) == ("passed", "fired")
            assert not {"AN102", "AN103", "AN105"} & said.keys(), "nothing is tried again that nobody answers"
            assert "AN202" not in said, "a consumer's rule says nothing of a producer"
    until(lambda: any(r["client_id"] == name for r in installation.api("results")["items"]))
    until(lambda: of("observed"), why="a client that leaves is recorded at once")
    until(lambda: sorted(in_history(installation, "offset", name)) == sorted(row["offset"] for row in results(installation, name)))

    span, tables = Span(since_ms, now_ms() + 1), Tables(installation.data_dir / "history")
    found = starts(tables, span, Whose(client_id=name), 0, 20)
    changed = [{"key": "batch.size", "before": "1000000", "after": "16384"}]
    assert (found["total"], [each["changes"] for each in found["items"]]) == (2, [changed, None])
    since_first = Span(found["items"][1]["pushed_ms"] + 1, span.to_ms)
    assert [each["changes"] for each in differences(tables, since_first, Whose(client_id=name))["items"]] == [changed]


def test_a_leak_is_redacted_flagged_and_written_nowhere(installation: Any) -> None:
    """By a careless client through the gateway, and by a producer that writes an un-redacted record straight to the topic."""
    secret = f'x.PlainLoginModule required username="u" password="{CANARY}";'
    with installation.gateway.named("careless", "careless-client", "0.1.0") as client:
        answer = client.push_config([("sasl.jaas.config", secret, 8, False), ("acks", "all", 1, True)])
    if answer.error_code == 0:  # on a busy machine it is answered before it is judged
        assert any(counts(installation.gateway, "pushes_answered_early").values())
    else:
        assert answer.error_code == 40 and "sasl.jaas.config" in answer.error_message and CANARY not in answer.error_message
    write(installation.internal, CONFIGS, (b"straight", config_record(setting("notes", secret), client_id="straight")))
    for client_id, code in (("careless", "SK001"), ("straight", "SK002")):
        until(lambda client_id=client_id: len(results(installation, client_id)) == 1)
        said = outcomes(results(installation, client_id)[0])
        assert [each for each, outcome in said.items() if outcome == "fired" and each.startswith("SK")] == [code]
    until(lambda: {"careless", "straight"} <= set(in_history(installation)))
    for topic in (RESULTS, FINDINGS, GAUGES, QUARANTINE, CONNECTIONS):
        assert all(CANARY.encode() not in (message.value or b"") for message in read_all(installation.internal, topic)), topic
    with_canary = [m for m in read_all(installation.internal, CONFIGS) if CANARY.encode() in (m.value or b"")]
    assert [m.key for m in with_canary] == [b"straight"]
    written = dict(files_below(installation.data_dir, "broker"))
    assert written
    assert [path for path, content in written.items() if CANARY.encode() in content] == []
    assert CANARY not in json.dumps([installation.api(path) for path in ("overview", "results", "clients", "connections")])


def test_f20_what_is_no_record_is_quarantined_and_everything_else_runs_on(installation: Any) -> None:
    good = config_record(setting("acks", "all"), client_id="after-poison")
    other = good.replace
    poison = {
        CONFIGS: {
            "not_json": [b"", b"\0", b" \n", good[:-3], good + good, b"[" * 100_000, other(b"after", b"\xff"), other(b"after", b"\\ud800")],
            "not_an_object": [b"null", b"[]", b"[" + good + b"]"],
            "unknown_version": [other(b'"version":1', b'"version":2')],
            "invalid_broker": [other(BROKER, b'"broker":1e400'), other(BROKER, b'"broker":' + b"9" * 400)],
            "invalid_origin": [other(b"pushed", CANARY.encode())],
        },
        CONNECTIONS: {"not_json": [b"not a record"], "invalid_kind": [b'{"version":1}']},
    }
    sent: dict[tuple[str, int, int], tuple[str, int]] = {}
    for topic, reasons in poison.items():
        for reason, values in reasons.items():
            places = write(installation.internal, topic, *((f"poison-{reason}-{n}".encode(), value) for n, value in enumerate(values)))
            sent |= {(each.topic, each.partition, each.offset): (reason, len(value)) for each, value in zip(places, values, strict=True)}
    write(installation.internal, CONFIGS, (b"good", b"\n" + good))
    until(lambda: len(results(installation, "after-poison")), 1)
    until(lambda: quarantined(installation.internal).keys() >= sent.keys())
    rows = quarantined(installation.internal)
    assert {place: (rows[place]["reason"], rows[place]["length"]) for place in sent} == sent
    assert all(len(rows[place]["digest"]) == 64 for place in every(sent))
    until(lambda: in_history(installation, client_id="after-poison"), ["after-poison"])

    url = f"{installation.job.page}metrics"
    until(lambda: metrics(url).get(("clientscope_stream_quarantined_total", "invalid_origin", CONFIGS)), 1)
    until(lambda: metrics(url).get(("clientscope_quality_unexpected_rows_total", "records_valid", CONFIGS), 0) >= len(sent) - 2)
    assert all(metrics(url)["clientscope_quality_validations_total", "error", topic] == 0 for topic in (CONFIGS, CONNECTIONS))
    until(lambda: installation.api("data-docs")["built_ms"] is not None)
    until(lambda: "counts_add_up" in page(f"{installation.page_url}data-docs/clientscope.connections.html")[1])
    docs = [path.read_text() for path in (installation.data_dir / "history" / "data-docs").iterdir()]
    assert docs and not any(CANARY in text for text in every(docs))
    installation.processes.check()


def test_every_topic_is_read_by_a_plain_consumer_and_pythons_json(installation: Any) -> None:
    """And each value is as its schema in the package says; decisions are read in test_serve_api.py."""
    schemas = resources.files("clientscope.model") / "schemas"
    for topic in sorted(BY_NAME.keys() - {TELEMETRY, DECISIONS}):
        validator = jsonschema.Draft202012Validator(json.loads(schemas.joinpath(f"{topic}.json").read_text("utf-8")))
        values = [message for message in until(lambda topic=topic: read_all(installation.internal, topic)) if message.value]
        for message in every(values):
            if not message.key.startswith(b"poison"):
                value = json.loads(message.value)
                assert value["version"] == 1, topic
                validator.validate(value)


def test_the_gauges_are_the_brokers_own_jmx_connections(installation: Any) -> None:
    jmx: Callable[[], dict[tuple[str, str], int]] = lambda: installation.broker.connections  # noqa: E731
    with held_open(installation, ["held-a", "held-a", "held-a", "held-b"]) as clients:
        until(lambda: gauges(installation) == jmx() == {("held-a", "1.0"): 3, ("held-b", "1.0"): 1})
        clients[0].close()
        clients[3].api_versions("held-a", "2.0")
        until(lambda: gauges(installation) == jmx() == {("held-a", "1.0"): 2, ("held-a", "2.0"): 1})
        until(lambda: installation.api("overview")["connections"], 3)
    until(lambda: gauges(installation) == jmx() == {})


def test_the_job_tells_prometheus_what_it_does(installation: Any) -> None:
    url = f"{installation.job.page}metrics"
    until(lambda: ("clientscope_stream_quarantined_total", "invalid_origin", CONFIGS) in metrics(url))
    found = metrics(url)
    for query in ("live", "history_pushes", "history_connections"):
        assert found["clientscope_stream_query_running", query] == 1
        assert found["clientscope_stream_query_restarts", query] == 0
        assert found["clientscope_stream_input_rows_total", query] > 0
        assert found["clientscope_stream_batch_seconds_count", query] > 0
        assert found["clientscope_stream_batch_phase_seconds_total", "addBatch", query] > 0
        assert found["clientscope_stream_last_progress_timestamp_seconds", query] > time.time() - 60
    assert found["clientscope_stream_state_rows", "live"] > 0
    for topic in (CONFIGS, CONNECTIONS):
        assert found["clientscope_stream_lag_records", "0", "live", topic] == 0
        assert found["clientscope_stream_lag_seconds", "0", "live", topic] == 0
    # The poison of a test before this one.
    assert found["clientscope_stream_quarantined_total", "unknown_version", CONFIGS] == 1


def test_every_query_of_the_dashboards_and_alerting_rules_runs_on_a_real_prometheus(installation: Any, tmp_path: Any) -> None:
    targets = {
        "clientscope-gateway": installation.gateway.metrics_url.split("/")[2],
        "clientscope-stream": installation.job.page.split("/")[2],
        "clientscope-serve": installation.page_url.split("/")[2],
    }
    with held_open(installation, ["apache-kafka-java"]) as (client,), prometheus(targets, tmp_path) as answer:
        client.push_config([("acks", "all", 1, True)])
        until(lambda: len(answer("clientscope_findings > -1")) > 0, why="something was judged")
        until(lambda: len(answer('clientscope_client_connections{client_software_name="apache-kafka-java"}')), 1)
        until(lambda: len(answer("sum_over_time(up[5m]) > 3")) == len(targets), why="rates need several scrapes")
        answers = {where: answer(query) for where, query in queries()}
    # What is only there once something is wrong, or was done.
    silent = {where for where, found in answers.items() if not found}
    assert silent - {rule["alert"] for rule in rules()} <= {
        "findings: Pushes by outcome", "findings: Data quality", "findings: Quarantined",
        "findings: Configurations judged", "findings: Rules that fire",
        "pipeline: Turned away", "pipeline: Undelivered", "pipeline: Oldest undelivered", "pipeline: Delivered",
        "pipeline: Failed attempts and alerts given up", "pipeline: Policy", "pipeline: Connections opened and closed",
    }  # fmt: skip


def history_command(installation: Any, *flags: str) -> str:
    return printed("history", *flags, "--history-dir", str(installation.data_dir / "history"))


def erase_command(installation: Any, *flags: str) -> str:
    return history_command(installation, "erase", "--bootstrap-servers", installation.internal, *flags)


def files_with(installation: Any, name: str) -> list[Path]:
    """Those of history that hold a name, Parquet's pages decompressed."""
    found = []
    for path, content in files_below(installation.data_dir / "history", "data-docs"):
        parquet = path.suffix == ".parquet"
        text = str(pyarrow.parquet.read_table(pyarrow.BufferReader(content)).to_pylist()) if parquet else content.decode("latin-1")
        found += [path] if name in text else []
    return found


def test_f35_a_client_is_erased_while_the_job_runs(installation: Any) -> None:
    name = "forget-me-2b9e"

    def findings() -> int:
        return sum(name.encode() in (value or b"") for value in newest(installation.internal, FINDINGS).values())

    def kept(client_id: str) -> int:
        return sum(in_history(installation, table=table).count(client_id) for table in ("pushes", "connections"))

    def pushed_by(client_id: str) -> None:
        with installation.gateway.named(client_id, "forgotten") as client:
            client.push_config([("acks", "0", 1, False)])
        until(lambda: kept(client_id) >= 3, why="pushed, opened and closed")

    pushed_by(name)
    until(findings, 1)
    assert files_with(installation, name)
    assert "pushes" in history_command(installation, "maintain")
    said = erase_command(installation, "--client-id", name)
    assert f"{CONFIGS}: 1 record replaced by tombstones" in said
    assert re.search(r"pushes: 1 row erased, [1-9]\d* files removed from disk; counted again: 0 left", said), said
    assert files_with(installation, name) == []
    values = newest(installation.internal, CONFIGS).values()
    assert not any(value is not None and name.encode() in value for value in every(values))
    pushed_by("remembered")
    assert kept(name) == 0
    until(findings, 0, why="what nobody else had leaves the topic with it")


def test_f35_erasure_waits_for_what_the_job_has_still_to_read(installation: Any) -> None:
    """What was pushed before would come to history after it, while its tombstone is on the topic already; by principal, and nobody else."""
    name = "User:forget-me-late-77d0"
    jvm = java_below(installation.processes.pid("stream"))
    with ThreadPoolExecutor(1) as threads:
        os.kill(jvm, signal.SIGSTOP)
        try:
            for number, principal in ((8000, name), (8001, f"{name}-not")):
                value = config_record(setting("acks", "0"), client_id="late", principal=principal, connection=number)
                write(installation.internal, CONFIGS, (b"g/2/%d" % number, value))
            erasing = threads.submit(erase_command, installation, "--principal", name)
            until(lambda: newest(installation.internal, CONFIGS)[b"g/2/8000"] is None)
            assert not erasing.done()
        finally:
            os.kill(jvm, signal.SIGCONT)
        said = erasing.result(LIMIT_S)
    assert f"{CONFIGS}: 1 record replaced by tombstones" in said
    assert re.search(r"pushes: 1 row erased, [1-9]\d* files removed from disk; counted again: 0 left", said), said
    assert {name, f"{name}-not"} & set(in_history(installation, "principal")) == {f"{name}-not"}
    assert newest(installation.internal, CONFIGS)[b"g/2/8001"] is not None


def test_f47_a_query_whose_table_is_damaged_is_parked_and_the_others_run_on(installation: Any) -> None:
    assert (page(f"{installation.job.page}healthz"), page(f"{installation.job.page}readyz")) == ((200, "ok\n"), (200, "ok\n"))
    table = installation.data_dir / "history" / "pushes"
    table.rename(table.with_name("aside"))
    table.write_text("no table")
    try:
        with installation.gateway.named("unkept", instance=uuid.uuid4()) as client:
            assert push_one(client, "1") == 0
            until(lambda: len(results(installation, "unkept")), 1, why="the others run on")
        until(lambda: page(f"{installation.job.page}readyz")[0], 503)
        assert page(f"{installation.job.page}readyz")[1].startswith("history_pushes is parked and retried: ")
        status, text = page(f"{installation.job.page}healthz")
        assert status == 200 and text.startswith("history_pushes "), "alive, and said"
    finally:
        table.unlink()
        table.with_name("aside").rename(table)

    until(lambda: in_history(installation).count("unkept"), 1)
    until(lambda: page(f"{installation.job.page}readyz")[0], 200)
    restarts = ("clientscope_stream_query_restarts", "history_pushes")
    until(lambda: metrics(f"{installation.job.page}metrics")[restarts] >= 1)
    installation.processes.check()


def test_gauges_and_findings_are_in_history_too(installation: Any) -> None:
    with held_open(installation, ["recorded"]) as (client,):
        client.push_config([("acks", "0", 1, False)])
        until(lambda: "recorded" in in_history(installation, "software_name", table="gauges"))
    until(lambda: "open" in in_history(installation, "state", table="findings"))


def test_f15_a_gateway_that_is_lost_loses_its_series_and_is_a_finding_until_it_is_back(installation: Any) -> None:
    def again() -> None:
        installation.start_gateway()
        installation.processes.await_ready("gateway")

    with held_open(installation, ["before", "before"]):
        until(lambda: gauges(installation), {("before", "1.0"): 2})
        installation.processes.signal("gateway", signal.SIGKILL)
        again()
        with held_open(installation, ["after"]):
            until(lambda: gauges(installation), {("after", "1.0"): 1})
            assert installation.broker.connections == {("after", "1.0"): 1}
            installation.processes.signal("gateway", signal.SIGKILL)
            until(lambda: gauges(installation), {}, why="with nothing else happening")
    lost = becomes(installation.internal, "OP001", lambda each: each.state == "open")
    assert lost.severity == "high"
    assert lost.message.startswith(f'Gateway "{installation.gateway.address}" of broker 1 in cluster ')
    assert f', on host "{platform.node()}", sends no heartbeats any more' in lost.message
    again()
    becomes(installation.internal, "OP001", lambda each: each.state == "resolved")
