"""The tiers in docs/faults.md, by the tests that name each fault: ``python docs/make/faults.py``; a test compares."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"
TIERS = ("test", "test-faults", "test-matrix", "test-long", "bench")
_FAULT = re.compile(r"(?<![A-Za-z0-9])[Ff]([0-9]{2})(?![0-9A-Za-z])")


def _named(text: str | None) -> set[str]:
    return {f"F{number}" for number in _FAULT.findall((text or "").replace("_", " "))}


def _markers(node: ast.AST) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and f"test-{each.attr}" in TIERS}


def _tiers(of_file: set[str], decorators: list[ast.expr]) -> set[str]:
    """Those of its parameters' own markers, beside the function's."""
    calls = [each for each in decorators if isinstance(each, ast.Call) and "parametrize" in ast.unparse(each.func)]
    own = of_file.union(*(_markers(each) for each in decorators if each not in calls))
    of_function = {"test-long"} if "long" in own else {f"test-{marker}" for marker in own} or {"test"}
    return of_function.union(*({f"test-{marker}" for marker in _markers(each)} for each in calls))


def tiers() -> dict[str, set[str]]:
    """Where the tests run that name each fault, in a function's name or docstring or their file's docstring; benchmarks that name it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "tests").rglob("test_*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        whole = _named(ast.get_docstring(module)) | _named(path.stem)
        of_file = {marker for node in module.body if "pytestmark" in ast.unparse(node)[:10] for marker in _markers(node)}
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for fault in whole | _named(node.name) | _named(ast.get_docstring(node)):
                    found[fault] |= _tiers(of_file, node.decorator_list)
    for path in (ROOT / "bench").rglob("*.py"):
        for fault in _named(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))):
            found[fault].add("bench")
    return found


def page(text: str) -> str:
    """The page, with the tiers of today."""
    known = tiers()

    def line(match: re.Match[str]) -> str:
        return f"- **{match[1]}** [{', '.join(tier for tier in TIERS if tier in known[match[1]])}] "

    return re.sub(r"^- \*\*(F\d\d)\*\* (?:\[[a-z, -]*\] )?", line, text, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
