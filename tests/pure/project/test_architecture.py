"""The architecture is executable: imports point one way, and the lock names no index."""

from __future__ import annotations

import ast
import re
import sys
import tomllib

from places import ROOT

from clientscope.local import jars


def test_the_contracts_name_every_part_of_the_core() -> None:
    """A layers contract says nothing of a module that it doesn't name, and may import, or be imported by, everything."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    parts = {
        f"clientscope.{path.stem}" for path in (ROOT / "clientscope").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    layers, core = contracts[0]["layers"], contracts[1]["source_modules"]
    named = {name for layer in layers for name in layer.split(" | ") if name.startswith("clientscope.")}
    assert named == parts - {"clientscope.__init__"}
    above = {name for layer in layers[: layers.index("streaming")] for name in layer.split(" | ")}
    assert set(core) == named - above
    assert not [contract["name"] for contract in contracts if "ignore_imports" in contract]


def test_kafka_python_is_used_in_one_package() -> None:
    """Elsewhere only its exceptions, its named tuple, and its engine for messages: no client, no private attribute of one."""
    engine = ("clientscope/wire/", "clientscope/model/codec.py", "clientscope/gateway/request_log.py")
    application = "clientscope/demo/clients.py"  # what the demo watches: an application, with clients of its own
    found, seen = [], 0
    for path in (path for package in ("clientscope", "streaming", "sinks", "udfs", "bench") for path in (ROOT / package).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name.startswith(("clientscope/kafka/", "clientscope/client/")) or name == application:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported = [f"{node.module}.{each.name}" for each in node.names]
            else:
                if isinstance(node, ast.Attribute) and node.attr in ("_manager", "_consumer", "_producer") and not _is_self(node):
                    found.append(f"{name}:{node.lineno}: {node.attr}")
                continue
            for each in (each for each in imported if each.split(".")[0] == "kafka"):
                seen += 1
                allowed = each.startswith("kafka.errors.") or each == "kafka.TopicPartition" or name.startswith("bench/")
                if not allowed and not (each.startswith("kafka.protocol.") and name.startswith(engine)):
                    found.append(f"{name}:{node.lineno}: {each}")
    assert found == []
    assert seen > 20


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def test_no_module_shadows_the_standard_library_or_a_dependency() -> None:
    tops = {path.name.removesuffix(".py") for path in ROOT.iterdir()}
    assert not tops & (set(sys.stdlib_module_names) | {"pyspark", "kafka", "pandas", "pyarrow"})
    for folder in ("clientscope", "streaming", "sinks", "udfs"):
        names = {path.stem for path in (ROOT / folder).rglob("*.py")} - {"__init__"}
        assert not names & set(sys.stdlib_module_names), folder


def test_the_lock_has_hashes_and_no_index_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text and "index-url" not in text
    for block in re.split(r"\n(?=[a-z])", text):
        if re.match(r"[a-z0-9._-]+(\[.*\])?==", block):
            assert "--hash=sha256:" in block, block.splitlines()[0]


def test_every_jar_is_locked_by_its_digest() -> None:
    lines = (ROOT / "clientscope" / "local" / "jars.sha256").read_text().splitlines()
    assert len(lines) > 40
    named = [re.fullmatch(r"[0-9a-f]{64}  ([\w.-]+)/[\w.+-]+\.jar", line) for line in lines]
    assert {match and match[1] for match in named} == {*jars.configurations()}
