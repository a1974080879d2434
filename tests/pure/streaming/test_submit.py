"""The settings for spark-submit, and errors for missing or superfluous ones.  The rest is in tests/real/test_sparks.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from places import ROOT
from programs import built_wheel, python

from clientscope.config import StreamSettings
from clientscope.errors import SettingsError
from clientscope.kafka.access import JAAS_VARIABLE
from clientscope.local.jars import LOCK
from streaming.session import DAEMON, JVM, configuration, local_file_system, session


def test_the_wheel_as_a_zip_is_importable_with_its_data_from_anywhere(tmp_path: Path) -> None:
    """As docs/cluster.md renames it; the tests of clusters run its commands."""
    built_wheel(tmp_path).rename(tmp_path / "clientscope.zip")
    code = """
import clientscope.cli, streaming.worker_daemon, streaming.fatal_records, streaming.gauges, sinks.quality.suites
from clientscope.catalog.settings import DATA
from clientscope.catalog.releases import releases
assert releases() and DATA.read_text()
modules = [clientscope, streaming, sinks, __import__("udfs")]
assert all(".zip" in module.__file__ for module in modules), modules
"""
    python("-W", "ignore", "-c", code, cwd=tmp_path, env={**os.environ, "PYTHONPATH": "clientscope.zip"})


def test_properties_are_those_of_local_mode() -> None:
    """What of them must be known before Python is; the rest the job says itself."""
    lines = (ROOT / "deploy" / "spark" / "clientscope.properties").read_text().splitlines()
    found = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    jar = Path("/srv/clientscope/jars/hadoop-bare-naked-local-fs-0.1.0.jar")
    assert local_file_system([jar]).items() <= found.items()
    assert f"spark/{jar.name}" in LOCK.read_text(), "the same jar in each release"
    assert found["spark.executor.extraJavaOptions"] == " ".join(JVM)
    assert found["spark.driver.extraJavaOptions"].startswith(" ".join(JVM))
    assert found["spark.python.daemon.module"] == DAEMON


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"master": "spark://m:7077"}, "stream.master has no effect under spark-submit"),
        ({"driver_memory": "4g"}, "stream.driver_memory has no effect under spark-submit"),
        (
            {
                "kafka_security_protocol": "SASL_PLAINTEXT",
                "kafka_sasl_mechanism": "PLAIN",
                "kafka_sasl_username": "u",
                "kafka_sasl_password": "hunter2",
            },
            f"need the environment variable {JAAS_VARIABLE}",
        ),
    ],
)
def test_settings_that_belong_to_spark_submit_are_refused(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str) -> None:
    """Before anything is started: the variable is spark-submit's sign."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.delenv(JAAS_VARIABLE, raising=False)
    with pytest.raises(SettingsError, match=expected):
        session(StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", **given}))


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("history_dir", "ftp://host/somewhere"),
        ("history_dir", "s3a://key:secret@bucket/somewhere"),
        ("checkpoint_dir", "s3a://bucket/somewhere"),
    ],
)
def test_an_address_of_no_store_or_with_credentials_is_refused(setting: str, address: str) -> None:
    with pytest.raises(ValueError, match=setting):
        StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", setting: address})
    settings = StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", "history_dir": "s3a://bucket/somewhere"})
    assert settings.history_dir == "s3a://bucket/somewhere"


def test_only_local_mode_talks_to_python_over_unix_sockets(tmp_path: Path) -> None:
    """On a cluster their folder is the executor's, whose name may be too long for a socket's address, and open to others."""
    settings = StreamSettings(bootstrap_servers="127.0.0.1:1", checkpoint_dir=str(tmp_path), history_dir=str(tmp_path))
    asked = {master: configuration(settings, master) for master in ("local[2]", "spark://m:7077", "yarn")}
    assert [master for master, of in asked.items() if "spark.python.unix.domain.socket.enabled" in of] == ["local[2]"]
