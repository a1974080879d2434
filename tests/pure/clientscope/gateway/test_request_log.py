"""gateway/request_log: one line for each request, whichever filter asks for it; requests without an answer use no memory."""

from __future__ import annotations

import io
import json
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from every import every
from frame_bytes import answer, request_frame
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from played import from_broker, from_client
from request_contexts import PLACE, Counts

from clientscope.errors import EnvironmentProblem
from clientscope.gateway.request_log import QUEUE_LINES, RequestLog
from clientscope.gateway.worker.messages import Logged
from clientscope.gateway.worker.observed import MOST_UNANSWERED, Observed, RequestFilter
from clientscope.policy.redaction import ClientNames
from clientscope.session.session import Session
from clientscope.session.state import Identity

ANY = RequestFilter()


class Script:
    """One connection: a real session that is observed, and a clock that is set by hand."""

    def __init__(self, chosen: RequestFilter = ANY) -> None:
        self.now_s = 0.0
        self.lines: list[tuple[int, int, float | None]] = []
        self.stopped = False
        self.session = Session()
        self.observed = Observed(chosen, lambda: self.session.identity, self._write, self._stop, lambda: self.now_s)
        self.session.observe(self.observed)

    def _write(self, at_s: float, head: bytes, identity: Identity, total_ms: float | None) -> None:
        _, key, _, correlation_id = struct.unpack(">ihhi", head)
        self.lines.append((key, correlation_id, total_ms))

    def _stop(self) -> None:
        self.stopped = True
        self.session.observe(None)

    def client(self, data: bytes) -> None:
        from_client(self.session, data)
        if not self.stopped:
            self.observed.received(self.session.between_requests)

    def broker(self, data: bytes) -> None:
        from_broker(self.session, data)


def request(key: int, correlation_id: int, size: int = 0, client_id: bytes = b"orders") -> bytes:
    return request_frame(key, 1, correlation_id, bytes(size), client_id=client_id)


def test_the_time_is_from_the_requests_last_byte_to_the_responses_first() -> None:
    script = Script()
    whole = request(0, 7, 100)
    for start, now_s in ((0, 1.0), (40, 2.0), (80, 3.0)):
        script.now_s = now_s
        script.client(whole[start : start + 40])
    answered = answer(7, 100)
    script.now_s = 3.25
    script.broker(answered[:20])
    script.now_s = 9.0
    script.broker(answered[20:])
    assert script.lines == [(0, 7, 250.0)]


def test_a_request_that_is_held_until_it_is_whole_is_one() -> None:
    script = Script()
    whole = request(18, 1, 0)
    for byte in whole:
        script.now_s += 1
        script.client(bytes([byte]))
    script.now_s += 2
    script.broker(struct.pack(">iihiq", 18, 1, 0, 0, 0))
    assert script.lines == [], "who it is may come with the next request"
    script.observed.end()
    assert script.lines == [(18, 1, 2000.0)]


@given(st.lists(st.tuples(st.sampled_from([0, 1, 3]), st.booleans()), max_size=60), st.integers(1, 200))
def test_every_request_is_one_line_in_order(requests: list[tuple[int, bool]], size: int) -> None:
    """Some have no answer (acks=0); bytes come in pieces of ``size``; ids repeat, as some clients have it."""
    script = Script()
    data = b"".join(request(key, number % 7, number) for number, (key, _) in enumerate(requests))
    for start in range(0, len(data), size):
        script.client(data[start : start + size])
    answers = b"".join(answer(number % 7, 3) for number, (_, answered) in enumerate(requests) if answered)
    for start in range(0, len(answers), size):
        script.broker(answers[start : start + size])
    script.observed.end()
    assert [(key, number) for key, number, _ in script.lines] == [(key, number % 7) for number, (key, _) in enumerate(requests)]


def test_f01_acks_0_leaves_nothing_behind() -> None:
    script = Script()
    for number in range(10_000):
        script.client(request(0, number))
    assert len(script.lines) == 10_000 - MOST_UNANSWERED
    script.client(request(3, 10_000))
    script.broker(answer(10_000))
    assert [total for *_, total in script.lines] == [None] * 10_000 + [0.0]


def test_a_client_that_no_filter_asks_for_is_no_longer_looked_at() -> None:
    script = Script(RequestFilter(client_id="payments-*"))
    script.client(request(3, 1))
    assert not script.stopped and not script.session.passes_from_client(request(3, 2))
    script.broker(answer(1))
    assert script.stopped and script.lines == []
    assert script.session.passes_from_client(request(3, 2)), "and bytes pass as if there were no log"


def test_one_with_acks_0_alone_is_not_looked_at_for_ever() -> None:
    script = Script(RequestFilter(client_id="payments-*"))
    for number in range(MOST_UNANSWERED + 1):
        script.client(request(0, number))
    assert script.stopped and script.lines == []


@pytest.mark.parametrize(("fits", "chosen"), cases(__file__, "filters.txt"))
def test_filters(fits: str, chosen: str) -> None:
    filters = RequestFilter(**dict(each.split("=") for each in chosen.split()))
    assert filters.takes(Identity("orders-1", "apache-kafka-java", "4.4.0", principal="User:alice")) is (fits == "yes")
    assert not RequestFilter(principal="User:*").takes(Identity("orders-1"))


def test_filters_by_address() -> None:
    chosen = RequestFilter(address="10.0.0.0/8,2001:db8::/32")
    said = {"10.1.2.3": True, "::ffff:10.1.2.3": True, "11.1.2.3": False, "2001:db8::7": True, "": False, "/socket": False}
    assert {address: chosen.takes_address(address) for address in said} == said
    assert ANY.takes_address("")


def logged(target: Any, **arguments: Any) -> tuple[RequestLog, Counts]:
    counted = Counts()
    return RequestLog(target, 1_000_000, PLACE, counted, ClientNames(), **arguments), counted


def test_a_line_is_kafkas_and_hostile_names_stay_in_it(tmp_path: Path) -> None:
    log, counted = logged(str(tmp_path / "requests.log"))
    hostile = 'a"\n\r\x00\x1b[31m\u2028\u202e\ud800' + "x" * 1000
    log.write(Logged("127.0.0.1:9092-127.0.0.1:50000-0-7", 5.0, request_frame(3, 12, 5), Identity(hostile, "java", hostile), 1.23456))
    log.write(Logged("c", 5.0, request_frame(999, -1, -5), Identity(None), None))
    log.close()
    text = (tmp_path / "requests.log").read_bytes()
    assert text.count(b"\n") == 2 and all(32 <= byte < 127 or byte == 10 for byte in every(text))
    first, second = (json.loads(line) for line in text.splitlines())
    assert first.pop("timestampMs") == second.pop("timestampMs") == 5000
    assert first == {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": 3, "requestApiVersion": 12, "correlationId": 5, "clientId": hostile[:256], "requestApiKeyName": "METADATA",
        },
        "request": None, "response": None, "connection": "127.0.0.1:9092-127.0.0.1:50000-0-7", "totalTimeMs": 1.235,
        "securityProtocol": "PLAINTEXT", "principal": "User:ANONYMOUS", "listener": "CLIENT",
        "clientInformation": {"softwareName": "java", "softwareVersion": hostile[:256]},
    }  # fmt: skip
    assert (second["requestHeader"]["requestApiKeyName"], second["requestHeader"]["clientId"], second["totalTimeMs"]) == (None, None, None)
    assert not counted
    assert (tmp_path / "requests.log").stat().st_mode & 0o007 == 0


def test_files_rotate_and_five_older_ones_stay(tmp_path: Path) -> None:
    log = RequestLog(str(tmp_path / "requests.log"), 2000, PLACE, Counts(), ClientNames())
    for number in range(200):
        log.write(Logged("c", 5.0, request_frame(3, 12, number), Identity("x"), 1.0))
    log.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["requests.log", *(f"requests.log.{number}" for number in range(1, 6))]
    assert all(path.stat().st_size <= 2000 for path in every(tmp_path.iterdir()))


def test_stdout_and_a_file_that_cannot_be() -> None:
    out = io.StringIO()
    log, _ = logged("-", stdout=out)
    log.write(Logged("c", 5.0, request_frame(3, 12, 1), Identity("x"), 1.0))
    log.close()
    assert json.loads(out.getvalue())["requestHeader"]["correlationId"] == 1
    with pytest.raises(EnvironmentProblem, match="request-log"):
        logged("/nowhere/requests.log")


def test_what_cannot_be_written_is_counted() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    log, counted = logged("-", stdout=Full())
    for number in range(3):
        log.write(Logged("c", 5.0, request_frame(3, 12, number), Identity("x"), 1.0))
    log.close()
    assert counted == {("request_log_dropped", "write_failed"): 3}


def test_what_does_not_fit_is_counted_and_what_fits_is_written() -> None:
    writing, may_write = threading.Event(), threading.Event()

    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            writing.set()
            may_write.wait(20)
            return super().write(text)

    out = Slow()
    log, counted = logged("-", stdout=out)
    line = Logged("c", 5.0, request_frame(3, 12, 1), Identity("x"), 1.0)
    log.write(line)
    assert writing.wait(20)
    for _ in range(QUEUE_LINES + 3):
        log.write(line)
    may_write.set()
    log.close()
    assert counted == {("request_log_dropped", "queue_full"): 3}
    assert out.getvalue().count("\n") == 1 + QUEUE_LINES
