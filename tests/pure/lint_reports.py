"""Reports of ``clientscope lint`` in short, without the texts of rules: those have tests of their own."""

from __future__ import annotations

from typing import Any


def judged(document: dict[str, Any]) -> str:
    """Of a report on one file: findings with their lines and settings, what was ignored, notes, and why nothing was judged."""
    (file,) = document["files"]
    lines = []
    for each in document["findings"]:
        settings = ", ".join(f"{setting['key']} ({setting['origin']})" for setting in each["settings"])
        lines.append(f"{each['line'] or '-'}: {each['code']} {each['severity']} {settings}")
    lines += [f"{each['line'] or '-'}: {each['code']} is ignored: {each['reason']}" for each in file["suppressed"]]
    lines += [f"{each['line']}: note: {each['text']}" for each in file["notes"]]
    return "".join(f"  {line.strip()}\n" for line in [*lines, *([file["skipped"]] if file["skipped"] else [])])
