"""The command: an invalid setting of another process is a result, and its value is not shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clientscope import cli
from clientscope.local.process import free_port


def test_an_invalid_setting_of_a_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        f'[kafka]\n"bootstrap.servers" = "127.0.0.1:{free_port()}"\n[gateway]\nbroker_jmx = "ftp://me:CNRYSECRET@x"\n'
        f'[stream]\ncheckpoint_dir = "{tmp_path}/checkpoints"\n'
    )
    assert cli.main(["doctor", "--config", str(file), "-o", "json"]) == 1
    out, err = capsys.readouterr()
    (found,) = (each for each in json.loads(out)["results"] if each["check"] == "settings")
    assert found["outcome"] == "problem" and found["text"] == f"invalid setting of gateway: {file}, [gateway] broker_jmx"
    assert "CNRYSECRET" not in out + err
    assert {each["outcome"] for each in json.loads(out)["results"] if each["check"] in ("topics", "rights", "clocks")} == {"not checked"}


@pytest.mark.parametrize("flags", [["--gateway", "nowhere"], ["--process", "nothing"], ["-o", "xml"]])
def test_wrong_use(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", *flags]) == 2
    assert "error: --" in capsys.readouterr().err
