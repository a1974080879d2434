"""The settings for spark-submit, and errors for missing or superfluous ones.  The rest is in tests/real/test_cluster.py."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import get_args

import pytest

from clientscope.commands.bundle import BundleSettings
from clientscope.commands.bundle import folder as bundle
from clientscope.commands.bundle import run as run_bundle
from clientscope.config import StreamSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import JAAS_VARIABLE
from streaming.internals.releases import MINORS
from streaming.session import PROGRAM, configuration, session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    jars = [tmp_path / "connector.jar", tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar"]
    for jar in jars:
        jar.write_bytes(b"jar")
    bundle.write(tmp_path / "bundle", jars)
    return tmp_path / "bundle"


def test_there_is_a_bundle_for_each_release_of_spark() -> None:
    field = BundleSettings.model_fields["spark"]
    assert (get_args(field.annotation), field.default) == (MINORS, MINORS[-1])


def test_what_is_not_there_for_a_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--store s3: there is none for Spark 3\.5"):
        run_bundle(BundleSettings(folder=tmp_path / "bundle", spark="3.5", store="s3"))


def test_the_zip_is_importable_with_its_data_from_anywhere(folder: Path, tmp_path: Path) -> None:
    code = """
import clientscope.cli, streaming.worker_daemon, streaming.culprits.search, streaming.gauges, sinks.quality.suites
from clientscope.catalog.settings import DATA
from clientscope.catalog.releases import releases
from udfs.decoding.decode import decoder
assert decoder("ClientConfigRecord") and releases() and DATA.read_text()
modules = [clientscope, streaming, sinks, __import__("udfs")]
assert all(".zip" in module.__file__ for module in modules), modules
"""
    environment = {**os.environ, "PYTHONPATH": bundle.ZIP}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_same_code_makes_the_same_zip_without_leftovers(folder: Path, tmp_path: Path) -> None:
    bundle.write(tmp_path / "again", (folder / "jars").iterdir())
    assert (folder / bundle.ZIP).read_bytes() == (tmp_path / "again" / bundle.ZIP).read_bytes()
    names = zipfile.ZipFile(folder / bundle.ZIP).namelist()
    assert {name.split("/")[0] for name in names} == set(bundle.PACKAGES)
    assert not [name for name in names if "__pycache__" in name]
    assert sorted(path.name for path in folder.iterdir()) == sorted([bundle.ZIP, bundle.PROPERTIES, PROGRAM, "jars", "log4j2.properties"])


def test_properties_name_what_lies_there(folder: Path) -> None:
    expected = dict(line.split(" ", 1) for line in (folder / bundle.PROPERTIES).read_text().splitlines())
    connector, file_system = (str(folder / "jars" / name) for name in ("connector.jar", "hadoop-bare-naked-local-fs-0.1.0.jar"))
    assert expected["spark.jars"] == f"{connector},{file_system}"
    assert expected["spark.driver.extraClassPath"] == file_system, "a JVM that starts looks for the file system of file: at once"
    assert Path(expected["spark.submit.pyFiles"]).is_file()
    assert expected["spark.executorEnv.PYTHONPATH"] == bundle.ZIP, "by its name alone: executors have it in their working directories"


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="can't be written"):
        bundle.write(tmp_path / "file", [])


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


@pytest.mark.parametrize("setting", ["checkpoint_dir", "history_dir"])
def test_an_address_of_no_store_or_with_credentials_is_refused(setting: str) -> None:
    for address in ("ftp://host/somewhere", "s3a://key:secret@bucket/somewhere"):
        with pytest.raises(ValueError, match=setting):
            StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", setting: address})
    settings = StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", setting: "s3a://bucket/somewhere"})
    assert str(getattr(settings, setting)) == "s3a://bucket/somewhere"


def test_hadoops_client_of_s3_gets_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-9c42")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    settings = StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", "history_dir": "s3a://bucket/history"})
    conf = configuration(settings, "local[2]")
    assert conf["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert "spark.hadoop.fs.s3a.path.style.access" not in conf
    assert "canary" not in str(conf), "Spark takes keys from its own environment"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert configuration(settings, "local[2]")["spark.hadoop.fs.s3a.path.style.access"] == "true"


def test_checkpoints_in_a_store_are_written_as_spark_writes_them_there() -> None:
    """What replaces a file on a disk isn't atomic on HDFS."""
    key = "spark.sql.streaming.checkpointFileManagerClass"
    for checkpoint_dir, is_ours in (("checkpoints", True), ("hdfs://namenode:8020/c", False), ("s3a://bucket/c", False)):
        settings = StreamSettings.model_validate({"bootstrap_servers": "127.0.0.1:1", "checkpoint_dir": checkpoint_dir})
        assert [key in configuration(settings, master) for master in ("local[2]", "spark://m:7077", "yarn")] == [is_ours] * 3
