"""What ``clientscope lint --diff`` shows, and ``--fix`` writes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from clientscope.cli import main

BEFORE = b"# orders\r\nlinger.mss=5\r\nacks=all\nfetch_min_bytes = 3\nbatch.size=16384\ncompression.type=zst\npassword.sasl=x\n"


def linted(*arguments: str) -> int:
    return main(["lint", *arguments])


def test_a_diff_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.properties"
    path.write_bytes(BEFORE)
    assert linted("--diff", "--software-version", "4.4.0", "--client-type", "producer", str(path)) == 0
    out = capsys.readouterr().out
    assert "-linger.mss=5\n+linger.ms=5\n" in out
    assert "-batch.size=16384\n" in out
    assert path.read_bytes() == BEFORE


def test_a_fix_changes_those_lines_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.properties"
    path.write_bytes(BEFORE)
    path.chmod(0o640)
    assert linted("--fix", "--software-version", "4.4.0", "--client-type", "producer", str(path)) == 1
    assert path.read_bytes() == BEFORE.replace(b"linger.mss", b"linger.ms").replace(b"fetch_min_bytes", b"fetch.min.bytes").replace(
        b"batch.size=16384\n", b""
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["orders.properties"]
    assert "CF103" in capsys.readouterr().out, "what can't be corrected is found"


def test_another_spelling_of_the_name_becomes_its_own(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_bytes("acks: all\nlinger_ms: 5  # größer\nqueue.buffering.max.kbytes: 7\n".encode())
    linted("--fix", "--client-type", "producer", str(path))
    assert path.read_bytes() == "acks: all\nlinger.ms: 5  # größer\nqueue.buffering.max.kbytes: 7\n".encode(), "another unit isn't touched"


@pytest.mark.parametrize(
    "text",
    [
        "linger.mss=5\nlinger.ms=6\n",  # it is there already
        "linger.mss=5\nlingr.ms=6\n",  # two would become one
        "linger.msec=5\n",  # two letters
        "com.example.thing=5\nacks=all\n",
    ],
)
def test_what_isnt_certain_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "orders.properties"
    path.write_text(text)
    linted("--fix", "--client-type", "producer", str(path))
    assert path.read_text() == text


def test_without_a_version_no_default_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "orders.properties"
    path.write_text("batch.size=16384\nacks=all\n")
    linted("--fix", "--client-type", "producer", str(path))
    assert path.read_text() == "batch.size=16384\nacks=all\n"


def test_a_diff_shows_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.properties"
    path.write_text('acks=all\nsasl.jaas.confg=org.example.Module required password="canary-1";\n')
    linted("--diff", "--client-type", "producer", str(path))
    out = capsys.readouterr().out
    assert "+sasl.jaas.config=" in out
    assert "canary" not in out


FIXED = (
    ("a.properties", "acks=all\nlingerMs=5\n", "lingerMs", "linger.ms"),
    ("a.properties", "CONNECT_PRODUCER_LINGER_MSS=5\nCONNECT_PRODUCER_ACKS=all\n", "LINGER_MSS", "LINGER_MS"),
    ("a.properties", "spring.kafka.producer.properties.linger.mss=5\n", "linger.mss", "linger.ms"),
    ("a.yaml", "spring:\n  kafka:\n    producer:\n      properties:\n        linger.mss: 5  # linger.mss\n", "", ""),
    ("a.yaml", "spring:\n  kafka:\n    producer:\n      properties:\n        linger.mss: 5\n", "linger.mss", "linger.ms"),
    ("a.yaml", "spring.kafka.producer:\n  properties:\n    linger: {mss: linger.mss}\n", "", ""),
    ("compose.yaml", "x:\n  environment:\n    - CONNECT_PRODUCER_LINGER_MSS=5\n", "LINGER_MSS", "LINGER_MS"),
    ("values.yaml", "env:\n  - name: CONNECT_PRODUCER_LINGER_MSS\n    value: 5\n", "", ""),
    ("connector.json", '{"config": {"producer.override.linger.mss": 5}}', "linger.mss", "linger.ms"),
)


@pytest.mark.parametrize(("name", "text", "before", "after"), FIXED)
def test_names_under_prefixes_and_levels(tmp_path: Path, name: str, text: str, before: str, after: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    linted("--fix", str(path))
    assert path.read_text() == text.replace(before, after)


def test_what_is_hostile_takes_no_longer(tmp_path: Path) -> None:
    """Ten thousand names that are wrong, each a letter away from one: what is done for each doesn't depend on their number."""
    path = tmp_path / "x.properties"
    text = "acks=all\n" + "".join(f"lingr.ms{number}=5\nlinger{number}.m=5\n" for number in range(4_900))
    path.write_text(text)
    linted("--fix", "--client-type", "producer", "--software-version", "4.4.0", "--fail-on", "never", str(path))
    assert path.read_text() == text


def test_a_number_without_end_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.properties"
    path.write_text("acks=1\nqueue.buffering.max.kbytes=" + "9" * 5_000 + "\nmax.in.flight=²\n")
    assert linted("--diff", "--dialect", "librdkafka", "--client-type", "producer", "--software-version", "2.8.0", str(path)) == 0
    assert capsys.readouterr().out == ""
