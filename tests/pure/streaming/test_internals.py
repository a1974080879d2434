"""Spark's internals are used in one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from places import ROOT

_PACKAGES = ("clientscope", "udfs", "streaming", "sinks")
_PRIVATE = ("_jvm", "_jsc", "_jdf", "_jsq", "_jconf", "_jsparkSession", "_spark", "_sc", "_collect_as_arrow", "_ensure_initialized")


def private_names(path: Path) -> Iterator[str]:
    """Of PySpark's objects, wherever they come from; a class's own attribute may have the same name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in _PRIVATE and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.attr}"


def test_nothing_else_reaches_into_spark() -> None:
    paths = [path for package in _PACKAGES for path in (ROOT / package).rglob("*.py")]
    inside = ROOT / "streaming" / "spark.py"
    assert [found for path in paths if path != inside for found in private_names(path)] == []
    assert {name.rpartition(" ")[2] for name in private_names(inside)} == {
        "_jvm", "_spark", "_collect_as_arrow", "_ensure_initialized",
    }  # fmt: skip
