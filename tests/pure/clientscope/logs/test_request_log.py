"""Request logs of real brokers of each format: what real clients were set to, and what hostile ones can't do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest
from golden import cases
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from request_logs import RELEASES, lines_of

from clientscope.commands.xray.incidents import Place
from clientscope.commands.xray.inventory import Inventory
from clientscope.logs.files import MAX_LINE, FollowedFile, FollowedPipe, Lines
from clientscope.logs.request_log import FIELDS, LoggedRequest, RequestLogReader

LINES = [line for release in RELEASES for line in lines_of(release)]


def read(lines: Iterable[str]) -> tuple[list[LoggedRequest], RequestLogReader]:
    log = RequestLogReader()
    return [*log.read(lines), *log.end()], log


def requests(release: str) -> list[LoggedRequest]:
    return read(lines_of(release))[0]


def of(found: list[LoggedRequest], client_id: str, api_key: int) -> LoggedRequest:
    return next(each for each in found if each.client_id == client_id and each.api_key == api_key)


@pytest.mark.parametrize("release", RELEASES)
def test_the_client_of_a_request(release: str) -> None:
    found = requests(release)
    request = of(found, "librdkafka-billing-1", 11)
    assert (request.address, request.principal) == ("127.0.0.1", "User:ANONYMOUS")
    assert request.logged_at.startswith("2026-")
    assert request.software_name == ("" if release == "broker-2.4" else "confluent-kafka-python")
    introduction = of(found, "librdkafka-billing-1", 18)
    if release != "broker-2.8":  # its log leaves the fields out
        assert introduction.fields["clientSoftwareName"] == "confluent-kafka-python"


@pytest.mark.parametrize("release", RELEASES)
def test_a_name_with_line_ends_makes_no_request_of_another_client(release: str) -> None:
    found, log = read(lines_of(release))
    assert "victim" not in {each.client_id for each in found}
    assert (log.unreadable > 0) is (release in ("broker-2.4", "broker-2.7"))
    assert {each.fields.get("acks") for each in found if each.api_key == 0} == {"1", "-1"}
    # What came before the first such name, and behind the end of the last, counts.
    assert {"java-orders-1", "java-billing-1", "python-orders-1", "librdkafka-billing-1", "ops"} <= {each.client_id for each in found}


def test_requests_that_a_broker_forwards_count_once() -> None:
    assert lines_of("broker", '"isForwarded":true')
    scram = [each for each in requests("broker") if each.api_key == 51]
    assert len(scram) == 1


@pytest.mark.parametrize("release", RELEASES)
def test_lines_of_a_collector(release: str) -> None:
    lines = lines_of(release)
    found, _ = read(lines)
    docker, _ = read([json.dumps({"log": line + "\n", "stream": "stdout"}) for line in lines])
    kubectl, _ = read([f"[pod/kafka-0/kafka] 2026-11-24T02:11:45.764000000Z {line}" for line in lines])
    without_times = [each._replace(logged_at="") for each in found]
    assert [each._replace(logged_at="") for each in docker] == without_times
    assert [each._replace(logged_at="") for each in kubectl] == without_times
    assert {each.logged_at for each in kubectl} == {"2026-11-24 02:11:45"}


def test_knows_a_log_at_info() -> None:
    line = lines_of("broker", '"PRODUCE"')[0]
    at_info = line.replace(" DEBUG ", " INFO ", 1)
    assert [read(lines)[1].at_info for lines in ([], [at_info], [line], [at_info, line], [line, at_info])] == [False, True, *[False] * 3]


def test_a_line_that_is_cut_is_counted() -> None:
    line = lines_of("broker", '"PRODUCE"')[0]
    found, log = read([line[:500], line])
    assert (len(found), log.unreadable, log.lines) == (1, 1, 2)


@pytest.mark.parametrize(("before", "after"), cases(__file__, "other_forms.txt"))
def test_an_object_of_another_form_is_unreadable_or_harmless(before: str, after: str) -> None:
    line = lines_of("broker", '"requestApiKey":1,')[0]
    assert before in line
    found, log = read([line.replace(before, after, 1)])
    assert len(found) + log.unreadable == 1
    inventory = Inventory()
    for each in found:
        inventory.add(each, Place("log", 1))
    assert not any(client.acts_as_broker for client in inventory.clients.values())


def test_the_end_of_a_line_of_text_is_found_by_its_last_parts() -> None:
    """A principal may have what separates parts, and any number of them."""
    line = next(line for line in LINES if "clientId=python-orders-1," in line and "apiKey=PRODUCE" in line)
    ending = ",securityProtocol:SSL,principal:b,listener:c" * 2_000
    ((request,), log) = read([line.replace("principal:User:ANONYMOUS", f"principal:User:a{ending}")])
    assert (request.principal, request.client_id, log.unreadable) == (f"User:a{ending}"[:256], "python-orders-1", 0)
    assert read([line.replace(",listener:", ",somewhere:")])[1].unreadable == 1


def test_a_request_that_came_before_the_level_was_raised_has_a_header_alone() -> None:
    line = lines_of("broker", '"FETCH"')[0]
    start, end = line.index('"request":') + len('"request":'), line.index(',"response":')
    ((request,), log) = read([f"{line[:start]}null{line[end:]}"])
    assert (request.api_key, request.fields, log.unreadable) == (1, {}, 0)


@given(st.sampled_from(LINES), st.integers(0, 4000), st.integers(0, 4000), st.text(max_size=40))
def test_no_line_stops_reading(line: str, start: int, end: int, text: str) -> None:
    found, log = read([line[:start] + text + line[max(start, end) :], LINES[-1]])
    assert log.lines == 2
    for each in found:
        assert set(each.fields) <= set(FIELDS.get(each.api_key, ()))
        assert all(len(value) <= 256 for value in (each.client_id, each.principal, each.software_name, *each.fields.values()))


@given(
    st.text(st.sampled_from("ab=,{}[]() -:\n"), max_size=30),
    st.sampled_from([line for line in LINES if "clientId=python-orders-1," in line]),
    st.lists(st.sampled_from([line for line in LINES if "clientId=java-" in line]), max_size=3),
)
def test_no_name_of_a_client_changes_what_others_sent(name: str, line: str, forged: list[str]) -> None:
    """A client's name has lines of others in it: none of those counts, whatever surrounds them."""
    inside = "\n".join([f"evil{name}", *(each.replace("java-", "victim-") for each in forged), f"x{name}"])
    log = line.replace("clientId=python-orders-1,", f"clientId={inside},")
    found, _ = read([*log.split("\n"), *LINES[:3]])
    assert not [each for each in found if "victim" in each.client_id]


def lines(*followed: FollowedFile | FollowedPipe) -> list[str]:
    return [line for each in followed for line in each.read()]


def test_a_file_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("before\n")
    with ExitStack() as stack:
        followed = FollowedFile(log, stack)
        assert lines(followed) == []
        with log.open("a") as file:
            file.write("one\ntw")
            file.flush()
            assert lines(followed) == ["one"]
            file.write("o\r\n")
        assert lines(followed) == ["two"]


def test_a_file_that_another_one_replaces_and_one_that_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("")
    with ExitStack() as stack:
        followed = FollowedFile(log, stack)
        for number in range(50):
            with log.open("a") as file:
                file.write(f"last of {number}\n")
            log.rename(tmp_path / f"app.log.{number}")
            assert lines(followed) == [f"last of {number}"], "also where no new file is there yet"
            log.write_text(f"first after {number}\n")
            assert lines(followed) == [f"first after {number}"]
        held = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        assert len([each for each in held if "app.log" in each]) == 1, "replaced files are closed"
        log.write_text("cut\n")
        assert lines(followed) == ["cut"]


def test_a_pipe_that_ends() -> None:
    read, write = os.pipe()
    followed = FollowedPipe("<stdin>", read)
    os.write(write, b"one\n")
    assert lines(followed) == ["one"]
    os.close(write)
    assert lines(followed) == lines(followed) == []
    os.close(read)


def test_an_endless_line_is_cut() -> None:
    found = Lines()
    got = [line for _ in range(10) for line in found.feed(b"x" * MAX_LINE)]
    assert [len(line) for line in got] == [MAX_LINE]
    assert list(found.feed(b"rest\nnext\n")) == ["next"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with ExitStack() as stack, refused("No such file"):
        FollowedFile(tmp_path / "none.log", stack)
