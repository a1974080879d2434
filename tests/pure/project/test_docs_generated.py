"""docs/: generated pages match the code, and docs/faults.md has every fault that tests cite."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from places import ROOT

from sinks.alerts.kinds import KINDS

FAULT = re.compile(r"(?<![A-Za-z0-9])[Ff]([0-9]{2})(?![0-9A-Za-z])")


def test_the_list_of_files_is_made_from_docstrings() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make" / "files.py"))["page"]()
    assert (ROOT / "docs" / "files.md").read_text(encoding="utf-8") == made, "make docs writes it anew"


def test_the_tables_of_metrics_are_made_from_registries() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "metrics.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    assert re.findall(r"<!-- metrics: (\w+) -->", text) == list(module["REGISTRIES"])
    assert len(re.findall(r"^\| `clientscope_", text, re.MULTILINE)) > 70


def test_the_keys_and_kinds_of_receivers_are_made_from_their_registry() -> None:
    text = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "alerts.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    assert re.findall(r"<!-- (keys|kinds) -->", text) == ["keys", "kinds"]
    assert len(re.findall(r"^\*\*", module["kinds"](), re.MULTILINE)) == len(KINDS)


def test_every_fault_that_is_not_marked_has_a_test_and_every_test_cites_one_of_them() -> None:
    cited = {
        f"F{number}"
        for path in (*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py"))
        if path != Path(__file__)
        for number in FAULT.findall(path.read_text(encoding="utf-8").replace("_", " "))
    }
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \*\*(F[0-9]{2})\*\*( \(not tested yet\))?", text, re.MULTILINE)
    assert [name for name, _ in listed] == [f"F{number:02}" for number in range(1, len(listed) + 1)]
    assert {name for name, untested in listed if not untested} == cited & {name for name, _ in listed}
    assert cited <= {name for name, _ in listed}
