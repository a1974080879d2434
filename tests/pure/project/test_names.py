"""A name between backticks in a docstring or comment exists: what a rename leaves behind fails here."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache

from places import ROOT

PACKAGES = ("clientscope", "udfs", "streaming", "sinks")
REFERENCE = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)`(?!`)")


@cache
def sources() -> dict[str, tuple[str, ast.Module]]:
    """Text and tree by module."""
    found = {}
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = text, ast.parse(text)
    return found


def names(tree: ast.Module) -> Iterator[str]:
    """What a module defines or imports at its top."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[-1]


def test_a_name_between_backticks_is_there() -> None:
    """Of classes, and of what is named from its package on: what a rename leaves behind."""
    known = {module: set(names(tree)) for module, (_, tree) in sources().items()}
    anywhere = {name for found in known.values() for name in found} | set(dir(builtins))
    references, unknown = 0, []
    for module, (text, _) in sources().items():
        for name in REFERENCE.findall(text):
            first, *rest = name.split(".")
            references += 1
            if first in PACKAGES and rest:
                of = next((name.rsplit(".", cut)[0] for cut in range(3) if name.rsplit(".", cut)[0] in known), None)
                left = name.removeprefix(of or "").strip(".").split(".")[0]
                if of is None or (left and left not in known[of]):
                    unknown.append(f"{module}: {name}")
            elif first[0].isupper() and not first.isupper() and first not in anywhere:
                unknown.append(f"{module}: {name}")
    assert references > 500
    assert unknown == []
