"""``clientscope findings who-has``: who pushed a secret, under which setting, and whether they are connected."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import Run
from golden import is_golden
from made_findings import BILLING, DAY_MS, NOW_MS, ORDERS, leak, recorded
from page_state import live
from private_files import private
from programs import on_terminal, ran
from served_page import serving

from clientscope.digest import DigestKey
from clientscope.local.process import free_port
from clientscope.model.decision import Decision, Resolution
from clientscope.model.finding import AffectedClient, Finding, LeakPlace
from clientscope.model.setting import Redaction, Setting
from sinks.dashboard.state.known import TopicRecord

OLD, NEW = b"0" * 64, b"1" * 64
KEY = DigestKey(NEW, (DigestKey(OLD),))
IN_USE, STOPPED, ROTATED, HOSTILE = "hunter2-in-use", "stopped-hunter2", "rotated-hunter2", "a\x1b[31mb[red]c"


def holding(number: int, value: str, key: DigestKey = KEY, **fields: object) -> Finding:
    settings = [Setting("sasl.jaas.config", redacted=Redaction("key_infix", len(value), key.digest(value).hex()))]
    return leak(number, settings=settings, **fields)


def client(name: str, disconnected_ms: int | None = None) -> AffectedClient:
    about = {"software_name": "librdkafka", "software_version": "2.6.1", "address": "10.0.0.7", "principal": "User:orders"}
    return AffectedClient(client_id=name, pushed_ms=NOW_MS - DAY_MS, disconnected_ms=disconnected_ms, **about)


def records() -> Iterator[TopicRecord]:
    rotated: Resolution = "rotated"
    decided = Decision(fingerprint="f", resolution=rotated, by="ann", why="new since Monday", at_ms=NOW_MS)
    places = [LeakPlace(application=ORDERS, key=HOSTILE, clients=0, last_seen_ms=NOW_MS)]
    for finding in (
        holding(1, IN_USE, clients=[client("orders-1"), client(HOSTILE, NOW_MS - 3_600_000)], client_count=5),
        holding(2, STOPPED, DigestKey(OLD), state="stopped", clients=[client("orders-2", NOW_MS)], client_count=0),
        holding(3, ROTATED, state="closed", decided=decided, client_count=0, places=places, place_count=3),
        leak(4, places=[LeakPlace(application=BILLING, key="password")]),
    ):
        yield recorded(finding)


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with serving(live(*records()), at_ms=NOW_MS) as url:
        yield url


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return private(tmp_path_factory.mktemp("keys") / "digest.key", f"{NEW.decode()}\n{OLD.decode()}\n")


def who_has(page: str, keys: Path, *before: str) -> list[str]:
    return [sys.executable, "-m", "clientscope", *before, "findings", "who-has", "--url", page, "--digest-key-file", str(keys)]


def asked(page: str, keys: Path, value: str, *flags: str, columns: int = 140) -> tuple[str, str]:
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = ran(*who_has(page, keys), *flags, input=value, env=environment)
    assert value not in done.stdout + done.stderr
    return done.stdout, done.stderr


def test_who_leaked_it_and_who_is_connected(page: str, keys: Path) -> None:
    """A leak that is still pushed, one that stopped under an earlier key, one that was closed, and one of nobody."""
    text = ""
    for title, value, flags, columns in (
        ("in use", IN_USE, (), 140), ("stopped", f"{STOPPED}\n", ("-o", "json"), 140), ("rotated", ROTATED, (), 80),
        ("nobody's", "hunter3", (), 140),
    ):  # fmt: skip
        out, err = asked(page, keys, value, *flags, columns=columns)
        assert max(map(len, out.splitlines())) <= columns or flags
        text += f"--- {title}\n{out}{err}\n"
    text = re.sub(r" \(\d+ \w+ ago\)", "", text)  # by a clock of the command's own
    assert "\x1b" not in text and is_golden(re.sub(r"(?m) +$", "", text), __file__, "who_has.txt")


def test_on_a_terminal_it_is_typed_without_an_echo(page: str, keys: Path) -> None:
    shown = on_terminal(*who_has(page, keys), asks=b"Value (it is not shown): ", typed=IN_USE.encode() + b"\n")
    assert IN_USE.encode() not in shown and b"Only the broker knows" in shown


@pytest.mark.parametrize("given", [IN_USE, f"-x{IN_USE}", f"--value={IN_USE}", f"--{IN_USE}"])
def test_it_is_never_an_argument_and_not_repeated(page: str, keys: Path, given: str, clientscope: Run) -> None:
    status, out, err = clientscope("findings", "who-has", "--url", page, "--digest-key-file", str(keys), given)
    assert status == 2
    assert err.startswith("error: an unexpected argument") and "standard input" in err
    assert IN_USE not in out + err


def test_no_page_no_key_and_a_traceback_without_the_value(keys: Path, clientscope: Run) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    done = ran(*who_has(nobody, keys, "--debug"), input=IN_USE, status=1)
    assert "Traceback" in done.stderr and "no clientscope serve answers" in done.stderr
    assert IN_USE not in done.stdout + done.stderr
    assert clientscope("findings", "who-has", "--url", nobody).refused.startswith("error: --digest-key-file is required")
