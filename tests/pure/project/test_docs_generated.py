"""docs/: generated pages match the code, and docs/faults.md has every fault that tests cite."""

from __future__ import annotations

import importlib
import pkgutil
import re
import runpy
from pathlib import Path

from places import ROOT

import streaming
from clientscope.catalog.client_facts import FACTS
from clientscope.records import topics
from streaming.limits import Limit

FAULT = re.compile(r"(?<![A-Za-z0-9])[Ff]([0-9]{2})(?![0-9A-Za-z])")


def test_the_tables_of_metrics_are_made_from_registries() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "metrics.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    assert re.findall(r"<!-- metrics: (\w+) -->", text) == list(module["REGISTRIES"])
    assert len(re.findall(r"^\| `clientscope_", text, re.MULTILINE)) > 70


def test_the_tables_of_readiness_are_made_from_kafkas_jars_and_real_clients() -> None:
    text = (ROOT / "docs" / "readiness.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "readiness.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    assert [name for name in re.findall(r"<!-- (\w+) -->", text) if name != "end"] == list(module["PARTS"])
    assert len(re.findall(r"^\| 4\.0\.0 \|", text, re.MULTILINE)) == 27


def test_the_table_of_limits_has_every_limit_of_the_job() -> None:
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "limits.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    names = [each.name for each in pkgutil.walk_packages(streaming.__path__, "streaming.") if "daemon" not in each.name]
    modules = [vars(importlib.import_module(name)) for name in names]
    defined = {value for each in modules for value in each.values() if isinstance(value, Limit)}
    listed = module["limits"]()
    assert len(listed) == len({each.name for each in listed}) >= 15
    assert set(listed) == defined, "each counts in an engine's limits"


def test_the_table_of_facts_has_every_fact() -> None:
    text = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / "client_facts.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    assert len(re.findall(r"^\| `\w+` \| .*\| `(?:producer|consumer)\.", text, re.MULTILINE)) == len(FACTS)


def test_schemas_are_those_of_the_classes_and_every_topic_has_one() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make" / "schemas.py"))
    for path, text in module["texts"]().items():
        assert path.read_text(encoding="utf-8") == text, "make docs writes it anew"
    assert set(module["VALUES"]) == set(topics.BY_NAME) - {topics.TELEMETRY}, "which is OTLP"
    assert {path.stem for path in module["FOLDER"].iterdir()} == set(module["VALUES"])


def test_every_fault_that_is_not_marked_has_a_test_and_every_test_cites_one_of_them() -> None:
    cited = {
        f"F{number}"
        for path in (*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py"))
        if path != Path(__file__)
        for number in FAULT.findall(path.read_text(encoding="utf-8").replace("_", " "))
    }
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \*\*(F[0-9]{2})\*\*", text, re.MULTILINE)
    assert listed == [f"F{number:02}" for number in range(1, len(listed) + 1)]
    assert cited == set(listed)
    assert runpy.run_path(str(ROOT / "docs" / "make" / "faults.py"))["page"](text) == text, "make docs writes the tiers anew"
