"""The command: an invalid setting of another process is a result, and its value is not shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import Run

from clientscope.local.process import free_port

NEED_A_BROKER = ("listeners", "topics", "rights", "clocks", "bypass")


def test_an_invalid_setting_of_a_process(tmp_path: Path, clientscope: Run) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        f'[kafka]\n"bootstrap.servers" = "127.0.0.1:{free_port()}"\n[gateway]\nbroker_jmx = "ftp://me:CNRYSECRET@x"\n'
        f'[stream]\ncheckpoint_dir = "{tmp_path}/checkpoints"\n'
    )
    status, out, err = clientscope("doctor", "--config", str(file), "-o", "json")
    assert status == 1
    (found,) = (each for each in json.loads(out)["results"] if each["check"] == "settings")
    assert found["outcome"] == "problem" and found["text"] == f"invalid setting of gateway: {file}, [gateway] broker_jmx"
    assert "CNRYSECRET" not in out + err
    without_broker = [each["outcome"] for each in json.loads(out)["results"] if each["check"] in NEED_A_BROKER]
    assert without_broker == ["not checked"] * len(NEED_A_BROKER)


@pytest.mark.parametrize("flags", [["--gateway", "nowhere"], ["--process", "nothing"], ["-o", "xml"]])
def test_wrong_use(flags: list[str], clientscope: Run) -> None:
    assert "error: --" in clientscope("doctor", *flags).refused
