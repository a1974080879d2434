"""What ``clientscope lint --diff`` shows, and ``--fix`` writes."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from command_runs import Run, Said

BEFORE = b"# orders\r\nlinger.mss=5\r\nacks=all\nfetch_min_bytes = 3\nbatch.size=16384\ncompression.type=zst\npassword.sasl=x\n"
PRODUCER = ("--client-type", "producer")
JAVA_4_4 = ("--software-version", "4.4.0", *PRODUCER)


@pytest.fixture
def diff(tmp_path: Path, run: Run) -> Run:
    """What is said of a file with this text, which stays as it is."""

    def said(text: bytes, *words: str) -> Said:
        (tmp_path / "x.properties").write_bytes(text)
        found = run("--diff", *words, str(tmp_path / "x.properties"))
        assert (tmp_path / "x.properties").read_bytes() == text
        return found

    return said


@pytest.fixture
def fixed(tmp_path: Path, run: Run) -> Callable[..., str]:
    """The text that this one becomes in a file of this name."""

    def written(name: str, text: str, *words: str) -> str:
        (tmp_path / name).write_text(text)
        run("--fix", *words, str(tmp_path / name))
        return (tmp_path / name).read_text()

    return written


def test_a_diff_changes_nothing_and_shows_no_secret(diff: Run) -> None:
    out = diff(BEFORE, *JAVA_4_4).printed
    assert "-linger.mss=5\n+linger.ms=5\n" in out
    assert "-batch.size=16384\n" in out
    out = diff(b'acks=all\nsasl.jaas.confg=org.example.Module required password="canary-1";\n', *PRODUCER).out
    assert "+sasl.jaas.config=" in out and "canary" not in out
    text = b"acks=1\nqueue.buffering.max.kbytes=" + b"9" * 5_000 + "\nmax.in.flight=²\n".encode()
    assert diff(text, "--dialect", "librdkafka", "--software-version", "2.8.0", *PRODUCER).printed == "", "a number without end is none"


def test_a_fix_changes_those_lines_alone(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "orders.properties"
    path.write_bytes(BEFORE)
    path.chmod(0o640)
    status, out, _ = run("--fix", *JAVA_4_4, str(path))
    assert path.read_bytes() == BEFORE.replace(b"linger.mss", b"linger.ms").replace(b"fetch_min_bytes", b"fetch.min.bytes").replace(
        b"batch.size=16384\n", b""
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["orders.properties"]
    assert status == 1 and "CF103" in out, "what can't be corrected is found"


@pytest.mark.parametrize(
    "text",
    [
        "linger.mss=5\nlinger.ms=6\n",  # it is there already
        "linger.mss=5\nlingr.ms=6\n",  # two would become one
        "linger.msec=5\n",  # two letters
        "com.example.thing=5\nacks=all\n",
        "batch.size=16384\nacks=all\n",  # a default of which release?
    ],
)
def test_what_isnt_certain_stays(text: str, fixed: Callable[..., str]) -> None:
    assert fixed("orders.properties", text, *PRODUCER) == text


FIXED = (
    ("a.properties", "acks=all\nlingerMs=5\n", "lingerMs", "linger.ms"),
    ("a.properties", "CONNECT_PRODUCER_LINGER_MSS=5\nCONNECT_PRODUCER_ACKS=all\n", "LINGER_MSS", "LINGER_MS"),
    ("a.properties", "spring.kafka.producer.properties.linger.mss=5\n", "linger.mss", "linger.ms"),
    # Another unit isn't touched.
    ("a.yaml", "acks: all\nlinger_ms: 5  # größer\nqueue.buffering.max.kbytes: 7\n", "linger_ms", "linger.ms"),
    ("a.yaml", "spring:\n  kafka:\n    producer:\n      properties:\n        linger.mss: 5  # linger.mss\n", "", ""),
    ("a.yaml", "spring:\n  kafka:\n    producer:\n      properties:\n        linger.mss: 5\n", "linger.mss", "linger.ms"),
    ("a.yaml", "spring.kafka.producer:\n  properties:\n    linger: {mss: linger.mss}\n", "", ""),
    ("compose.yaml", "x:\n  environment:\n    - CONNECT_PRODUCER_LINGER_MSS=5\n", "LINGER_MSS", "LINGER_MS"),
    ("values.yaml", "env:\n  - name: CONNECT_PRODUCER_LINGER_MSS\n    value: 5\n", "", ""),
    ("connector.json", '{"config": {"producer.override.linger.mss": 5}}', "linger.mss", "linger.ms"),
)


@pytest.mark.parametrize(("name", "text", "before", "after"), FIXED)
def test_corrects_names_also_under_prefixes_and_levels(name: str, text: str, before: str, after: str, fixed: Callable[..., str]) -> None:
    assert fixed(name, text) == text.replace(before, after)


def test_what_is_hostile_takes_no_longer(fixed: Callable[..., str]) -> None:
    """Five thousand names that are wrong, each a letter away from one: what is done for each doesn't depend on their number."""
    text = "acks=all\n" + "".join(f"lingr.ms{number}=5\nlinger{number}.m=5\n" for number in range(2_450))
    assert fixed("x.properties", text, *JAVA_4_4, "--fail-on", "never") == text
