"""Versions of client libraries in build files near a settings file."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import Run

from clientscope.commands.lint.versions import MAX_BYTES, near

POM = """<project><properties><kafka.version>3.7.2</kafka.version></properties><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>{}</version></dependency>
<dependency><groupId>org.example</groupId><artifactId>kafka-clients</artifactId><version>1.0</version></dependency></dependencies></project>"""


@pytest.mark.parametrize(
    ("name", "text", "dialect", "version"),
    [
        ("pom.xml", POM.format("${kafka.version}"), "java", "3.7.2"),
        ("pom.xml", POM.format("7.6.1-ccs"), "java", "7.6.1-ccs"),
        ("pom.xml", POM.format("${elsewhere}"), "java", None),
        ("pom.xml", POM.format("[3.0,4.0)"), "java", None),
        ("pom.xml", POM.format("3.9.1"), "librdkafka", None),
        pytest.param("pom.xml", POM.format("3.9.1") + " " * MAX_BYTES, "java", None, id="a huge file"),
        ("build.gradle", "implementation 'org.apache.kafka:kafka-clients:3.9.1'", "java", "3.9.1"),
        (
            "build.gradle",
            "implementation 'org.apache.kafka:kafka-clients:3.9.1'\ntest 'org.apache.kafka:kafka-clients:4.0.0'",
            "java",
            None,
        ),
        ("build.gradle", "implementation 'org.apache.kafka:kafka-clients:3.+'", "java", None),
        ("requirements.txt", "requests>=2\nconfluent_kafka[avro]==2.8.0 ; python_version > '3'\n", "librdkafka", "2.8.0"),
        ("requirements.txt", "confluent-kafka>=2.8.0\n", "librdkafka", None),
        ("uv.lock", '[[package]]\nname = "kafka-python"\nversion = "2.0.2"\n', "kafka-python", "2.0.2"),
        ("go.mod", "require (\n\tgithub.com/IBM/sarama v1.43.3\n)\n", "sarama", "v1.43.3"),
        ("go.mod", "require github.com/twmb/franz-go v1.18.1\n", "franz-go", "v1.18.1"),
        ("package.json", '{"dependencies": {"kafkajs": "2.2.4"}}', "kafkajs", "2.2.4"),
        ("package.json", "[" * 100_000, "kafkajs", None),
    ],
)
def test_a_build_file_has_the_version(name: str, text: str, dialect: str, version: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    settings = tmp_path / "src" / "main" / "resources" / "orders.properties"
    found = near(settings, dialect)
    assert (found and found.version) == version
    assert found is None or found.path == tmp_path / name


def test_the_nearest_one_counts_up_to_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "service"
    inner.mkdir()
    (tmp_path / "pom.xml").write_text(POM.format("3.9.1"))
    assert getattr(near(inner / "a.properties", "java"), "version", None) == "3.9.1"
    (inner / "sub").mkdir()
    (inner / "sub" / ".git").mkdir()
    assert near(inner / "sub" / "a.properties", "java") is None


def test_lint_judges_by_it_and_says_so(tmp_path: Path, run: Run) -> None:
    (tmp_path / "pom.xml").write_text(POM.format("3.7.2"))
    (tmp_path / "a.properties").write_text("acks=all\ncompression.gzip.level=9\nclient.id=orders\n")
    out = run(str(tmp_path / "a.properties")).out
    assert "CF107" in out
    assert f"judged as java 3.7.2 by {tmp_path / 'pom.xml'}" in out
    out = run("--software-version", "4.4.0", str(tmp_path / "a.properties")).out
    assert "CF107" not in out
    assert "pom.xml" not in out
