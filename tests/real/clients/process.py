"""franz-go, Sarama and KafkaJS: a program of each, built once per run from tests/fixtures/clients, which does a step per line of JSON."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from clients.script import PARTITIONS, Call, Client, Message, Pairs, Produced
from places import TESTS
from programs import ran

SOURCES = TESTS / "fixtures" / "clients"
_BUILD_S = 280  # the first build on a machine downloads and compiles everything; those after it take two seconds


class StepFailed(Exception):
    """A step failed; ``name`` is what the client's library calls the error."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name


_OFFLINE = re.compile(r"dial tcp|lookup .* on |i/o timeout|ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT")


def run_build(command: list[str], directory: Path, most_s: float = _BUILD_S, **env: str) -> None:
    """Runs a build in its folder; the test is skipped where packages can't be downloaded."""
    done = ran(*command, cwd=directory, env={**os.environ, **env}, timeout=most_s, status=None)
    if done.returncode and _OFFLINE.search(done.stdout + done.stderr):
        pytest.skip(f"{command[0]} can't download packages: no network")
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Where the programs of this run are; gone when it ends."""
    return tempfile.TemporaryDirectory(prefix="clientscope-clients-")


@functools.cache
def _go_programs() -> Path:
    if shutil.which("go") is None:
        pytest.skip("no `go` on PATH: franz-go and Sarama aren't tested")
    target = Path(_scratch().name) / "go"
    target.mkdir()
    build = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", f"{target}/", "./franz", "./sarama"]
    run_build(build, SOURCES / "go", CGO_ENABLED="0")
    return target


@functools.cache
def _node_program() -> Path:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no `node` and `npm` on PATH: KafkaJS isn't tested")
    target = shutil.copytree(SOURCES / "node", Path(_scratch().name) / "node", ignore=shutil.ignore_patterns("node_modules"))
    run_build(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], target)
    return target / "main.mjs"


def locked_go_version(module: str) -> str:
    """The version of a Go module that the clients are built with."""
    lines = (SOURCES / "go" / "go.mod").read_text().split("\n")
    (version,) = (words[1] for words in map(str.split, lines) if words[:1] == [module])
    return version


class ProcessClient(Client):
    """A client library of another language; a step's clients are opened and closed by the program."""

    command: list[str]

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._process: Any = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMEMLIMIT": "128MiB"}
        )

    def close(self) -> None:
        self._process.stdin.close()  # which ends it
        try:
            self._process.wait(5)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()

    def _ask(self, op: str, **fields: Any) -> Any:
        self._process.stdin.write(json.dumps({"op": op, "address": self.address, "client_id": self.client_id, **fields}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the program ended with status {self._process.wait(5)}"
        answer = json.loads(line)
        if "error" in answer:
            raise StepFailed(answer["error"], answer["detail"])
        return answer["result"]

    def create_topic(self, topic: str) -> None:
        self._ask("create", topic=topic, partitions=PARTITIONS)

    def produce(self, topic: str, how: Produced, messages: Pairs) -> list[int]:
        settings = {"acks": how.acks, "codec": how.codec, "idempotent": how.idempotent}
        ends = {"transactional_id": how.transactional_id, "abort": how.abort}
        return list(self._ask("produce", topic=topic, messages=messages, **settings, **ends))

    def consume(self, topic: str, group: str, count: int, at_rest: Call) -> list[Message]:
        taken = self._ask("consume", topic=topic, group=group, count=count)
        try:
            at_rest()
        finally:
            self._ask("leave")
        return [(partition, key, value) for partition, key, value in taken]

    def describe(self, topic: str) -> dict[str, Any]:
        said = self._ask("describe", topic=topic)
        return {**said, "nodes": [(node, address == self.address) for node, address in said["nodes"]]}

    def unknown_topic(self, topic: str) -> None:
        self._ask("delete", topic=topic)

    def error_name(self, error: Exception) -> str:
        return error.name if isinstance(error, StepFailed) else f"{type(error).__name__}: {error}"


class FranzGo(ProcessClient):
    """Says the version that is in the program's build information, which is go.mod's."""

    name = "franz-go"
    codecs = ("gzip", "snappy", "lz4", "zstd")
    program, software, module = "franz", "kgo", "github.com/twmb/franz-go"

    def __init__(self, address: str) -> None:
        self.command = [str(_go_programs() / self.program)]
        self.identity = (self.software, locked_go_version(self.module))
        super().__init__(address)


class Sarama(FranzGo):
    """As `FranzGo`, by another library."""

    name = "sarama"
    program, software, module = "sarama", "sarama", "github.com/IBM/sarama"


class KafkaJS(ProcessClient):
    """Says neither its name nor its version; what it compresses with besides gzip are packages of others."""

    name = "kafkajs"
    identity = ("unknown", "unknown")

    def __init__(self, address: str) -> None:
        self.command = ["node", "--max-old-space-size=128", "--no-warnings", str(_node_program())]
        super().__init__(address)
