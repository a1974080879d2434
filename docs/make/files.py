"""Writes docs/files.md: every package and module with the first paragraph of its docstring.

``python docs/make/files.py``; a test compares.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "files.md"
PACKAGES = ("clientscope", "udfs", "streaming", "sinks")

HEAD = """# Files

Every package and module, with the first paragraph of its docstring. `make docs` writes this page;
[DESIGN.md](../DESIGN.md) says how the parts fit together.
"""


def first_paragraph(path: Path) -> str:
    """What a module's docstring begins with, on one line.

    Raises:
        ValueError: it has none.
    """
    text = ast.get_docstring(ast.parse(path.read_text()))
    if not text:
        raise ValueError(f"{path.relative_to(ROOT)} has no docstring")
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield HEAD
    for top in PACKAGES:
        for package in sorted({path.parent for path in (ROOT / top).rglob("*.py")}):
            yield f"## {package.relative_to(ROOT)}/\n"
            if (init := package / "__init__.py").exists():
                yield f"{first_paragraph(init)}\n"
            for module in sorted(package.glob("*.py")):
                if module != init:
                    yield f"- `{module.name}`: {first_paragraph(module)}"
            yield ""


def page() -> str:
    """The whole page."""
    return "\n".join(lines()).rstrip() + "\n"


if __name__ == "__main__":
    FILE.write_text(page())
