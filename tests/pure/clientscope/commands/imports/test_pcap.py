"""``clientscope import pcap`` on what real clients sent (`tests/fixtures/captures.py`), and on files that are damaged or hostile."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import dpkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientscope import cli
from clientscope.commands.imports.pcap import ImportPcapSettings
from clientscope.commands.imports.pcap_inventory import read
from clientscope.commands.xray.configurations import applications, configurations, found_clients
from clientscope.logs.captured_requests import CapturedRequests
from clientscope.logs.packets import Packets
from clientscope.policy.found_clients import FoundClients
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin

CAPTURE = Path(__file__).parents[4] / "fixtures" / "captures" / "clients.pcap"
PORT = 19999
PACKETS = [(float(at), packet) for at, packet in dpkt.pcap.Reader(io.BytesIO(CAPTURE.read_bytes()))]


def written(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for at, packet in packets:
            writer.writepkt(packet, at)
    return path


def settings_of(path: Path) -> dict[str, dict[str, str]]:
    """By client.id, what its requests show."""
    inventory, _, errors = read(ImportPcapSettings(paths=(str(path),), port=PORT))
    assert not errors
    return {
        each.key.client_id: {name: value for name, (value, _) in each.settings.items()}
        for each in configurations(inventory, applications(inventory))
    }


def test_settings_are_those_of_the_clients() -> None:
    found = settings_of(CAPTURE)
    assert found["orders-producer"].items() >= {"acks": "1"}.items()
    assert found["billing-producer"]["acks"] == "all"
    assert found["orders-consumer"].items() >= {
        "group.id": "orders", "session.timeout.ms": "12000", "max.partition.fetch.bytes": "7000",
    }.items()  # fmt: skip
    assert found["billing-consumer"].items() >= {"group.id": "billing", "session.timeout.ms": "9000"}.items()


def test_software_is_that_of_the_connection() -> None:
    inventory, (log,), _ = read(ImportPcapSettings(paths=(str(CAPTURE),), port=PORT))
    software = {key.client_id: (key.software_name, key.software_version) for key in inventory.clients}
    assert software["billing-consumer"] == ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")
    assert software["orders-consumer"][0] == "kafka-python"
    assert (log.unreadable, log.stopped) == (0, "")


def test_packets_that_come_twice_or_in_another_order_change_nothing(tmp_path: Path) -> None:
    swapped = [each for pair in zip(PACKETS[1::2], PACKETS[::2], strict=False) for each in pair]
    twice = [each for packet in PACKETS for each in (packet, packet)]
    for packets in (swapped, twice):
        assert settings_of(written(tmp_path / "other.pcap", packets)) == settings_of(CAPTURE)


def test_a_capture_that_begins_within_connections_still_shows_what_follows(tmp_path: Path) -> None:
    late = PACKETS[len(PACKETS) // 2 :]
    assert (
        settings_of(written(tmp_path / "late.pcap", late)).keys() == {"billing-consumer", "orders-consumer"} & settings_of(CAPTURE).keys()
    )


def test_other_ports_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", "pcap", str(CAPTURE)]) == 2
    assert "no request to port 9092" in capsys.readouterr().err


def test_the_result_and_compressed_captures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clients.pcap.gz").write_bytes(gzip.compress(CAPTURE.read_bytes()))
    assert cli.main(["import", "pcap", str(tmp_path / "clients.pcap.gz"), "--port", str(PORT), "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["logs"][0]["requests"] > 50


def test_published_records_have_their_origin() -> None:
    inventory, _, _ = read(ImportPcapSettings(paths=(str(CAPTURE),), port=PORT))
    found = FoundClients("cluster", 1, 1, None)
    for client in found_clients(inventory, applications(inventory), Origin.CAPTURE):
        found.add(client)
    records = [decode(ClientConfigRecord, value) for value in found.records.values()]
    assert {(record.origin, record.gateway_id) for record in records} == {(Origin.CAPTURE, "clientscope import pcap")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("content", [b"", b"no capture", b"\xd4\xc3\xb2\xa1" + bytes(20) + b"\xff" * 16])
def test_what_is_no_capture_is_one_error(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    assert cli.main(["import", "pcap", str(tmp_path / "x.pcap")]) == 2
    assert "Traceback" not in capsys.readouterr().err


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_bytes_stop_nothing(data: st.DataObject) -> None:
    content = bytearray(CAPTURE.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=20)):
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(24, len(content)))
    if content[:4] != CAPTURE.read_bytes()[:4]:
        return
    packets, requests = Packets(io.BytesIO(bytes(content[:cut])), "x", (PORT,), 1 << 30), CapturedRequests()
    for sent in packets.sent():
        list(requests.read(sent))
