"""docs/: generated pages match the code, and docs/faults.md has every fault that tests cite."""

from __future__ import annotations

import importlib
import pkgutil
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import streaming
from clientscope.catalog.client_facts import FACTS
from clientscope.model import topics
from clientscope.profiles import owners, rules_file
from clientscope.risks import ABOUT, RISKS
from streaming.limits import Limit
from udfs.rules.registry import EVERY_RULE, LIMITS

FAULT = re.compile(r"(?<![A-Za-z0-9])[Ff]([0-9]{2})(?![0-9A-Za-z])")


def made(page: str, maker: str = "") -> tuple[str, dict[str, Any]]:
    """A page whose tables are as they are made, and the module that makes them."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    module = runpy.run_path(str(ROOT / "docs" / "make" / f"{maker or page}.py"))
    assert module["page"](text) == text, "make docs writes it anew"
    return text, module


def test_the_tables_of_metrics_are_made_from_registries() -> None:
    text, module = made("metrics")
    assert re.findall(r"<!-- metrics: (\w+) -->", text) == list(module["REGISTRIES"])
    assert len(re.findall(r"^\| `clientscope_", text, re.MULTILINE)) > 70


def test_the_tables_of_readiness_are_made_from_kafkas_jars_and_real_clients() -> None:
    text, module = made("readiness")
    assert [name for name in re.findall(r"<!-- (\w+) -->", text) if name != "end"] == list(module["PARTS"])
    assert len(re.findall(r"^\| 4\.0\.0 \|", text, re.MULTILINE)) == 27


def test_the_table_of_limits_has_every_limit_of_the_job() -> None:
    _, module = made("operating", "limits")
    names = [each.name for each in pkgutil.walk_packages(streaming.__path__, "streaming.") if "daemon" not in each.name]
    modules = [vars(importlib.import_module(name)) for name in names]
    defined = {value for each in modules for value in each.values() if isinstance(value, Limit)}
    listed = module["limits"]()
    assert len(listed) == len({each.name for each in listed}) >= 15
    assert set(listed) == defined, "each counts in an engine's limits"


def test_the_table_of_facts_has_every_fact() -> None:
    text, _ = made("telemetry", "client_facts")
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


def test_examples_of_lint_are_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "CLIENTSCOPE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    made("lint")


def test_files_in_its_page_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", (ROOT / "docs" / "lint.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        if "owner" in tomllib.loads(block):
            assert len(owners.read(file).entries) == 2
        else:
            assert rules_file.read(file, LIMITS).suppressions


def test_the_page_is_made_from_the_rules() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make" / "rules.py"))
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == module["markdown"](), "make docs-rules writes it anew"


def test_each_rule_says_what_it_risks() -> None:
    assert set(RISKS) == {risk for rule in EVERY_RULE for risk in rule.risks} == set(ABOUT)
    for rule in EVERY_RULE:
        assert rule.risks
        assert len(set(rule.risks)) == len(rule.risks)
        assert ("secret" in rule.risks) == (rule.code.startswith("SK") or rule.code in ("AN312", "AN313"))


def test_no_advice_recommends_what_another_rule_finds() -> None:
    for rule in EVERY_RULE:
        advice = f"{rule.use_instead} {' '.join(rule.messages)}"
        assert not re.search(r"acks=[01]\b", advice), rule.code


def _numbers(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict) and schema.get("type") in ("integer", "number"):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _numbers(part)


def test_every_number_of_every_topic_is_whole_and_bounded() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make" / "schemas.py"))
    numbers = [number for topic in module["VALUES"] for number in _numbers(module["schema"](topic))]
    assert len(numbers) > 100
    assert all(each["type"] == "integer" and ("const" in each or {"minimum", "maximum"} <= each.keys()) for each in numbers)
