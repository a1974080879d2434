"""deploy/prometheus and deploy/grafana: rules that promtool has tested, and dashboards that explain themselves."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

from dashboards import DEPLOY, queries, rules
from places import ROOT
from prometheus_client import CollectorRegistry, generate_latest

from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.policy.metrics import PolicyMetrics
from sinks.alerts.delivery import DeliverMetrics
from sinks.dashboard.api.metrics import registry
from sinks.dashboard.state.state import State
from sinks.quality.metrics import QualityMetrics
from streaming.job_metrics import JobMetrics

TESTS = ("rules_test.yml", "rules_day_test.yml")
RUNBOOKS = ROOT / "docs" / "runbooks.md"


def promtool(*arguments: str) -> None:
    found = shutil.which("promtool")
    assert found, "install Debian's prometheus (make prometheus), or put promtool on PATH"
    ended = subprocess.run([found, *arguments], cwd=DEPLOY / "prometheus", check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_prometheus_takes_the_settings_and_the_rules_say_what_their_tests_expect(tmp_path: Path) -> None:
    shutil.copyfile(DEPLOY / "prometheus" / "rules.yml", tmp_path / "rules.yml")
    (tmp_path / "token").write_text("x")
    settings = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(settings.replace("/run/secrets/reader.token", str(tmp_path / "token")))
    promtool("check", "config", str(tmp_path / "prometheus.yml"))
    promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yml")
    promtool("test", "rules", *TESTS)


def test_each_rule_says_how_bad_it_is_and_what_to_do_and_has_a_test() -> None:
    tested = "".join((DEPLOY / "prometheus" / name).read_text() for name in TESTS)
    anchors = {heading.lower() for heading in re.findall(r"^## (\S+)$", RUNBOOKS.read_text(), re.MULTILINE)}
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in anchors
        assert f"alertname: {rule['alert']}\n" in tested, "a test in which it alerts"
    assert anchors == {rule["alert"].lower() for rule in rules()}


def test_every_metric_that_is_asked_for_is_one_of_ours() -> None:
    job, gateway, policy = JobMetrics(), GatewayMetrics(), CollectorRegistry()
    QualityMetrics(job.registry)
    PolicyMetrics(policy, lambda: 0)
    deliver = DeliverMetrics(["r"])
    gateway.show_bypassed(lambda: False)
    gateway.show_connections(dict, {"cluster": "c", "broker": "1", "listener": "CLIENT"})
    page = "".join(generate_latest(each).decode() for each in (job.registry, gateway.registry, policy, registry(State()), deliver.registry))
    ours = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    asked = {name for _, expression in queries() for name in re.findall(r"\bclientscope_\w+", expression)}
    assert len(asked) > 30
    assert {name for name in asked if name not in ours and re.sub(r"_(bucket|sum|count)$", "", name) not in ours} == set()


def test_the_alert_of_full_tables_has_every_limit_whose_finding_is_severe() -> None:
    (asked,) = {expression for where, expression in queries() if "limit_reached" in expression}
    found = re.search(r'limit=~"([a-z_|]+)"', asked)
    listed = runpy.run_path(str(ROOT / "docs" / "make" / "limits.py"))["limits"]()
    assert found is not None
    assert found[1].split("|") == sorted(each.name for each in listed if each.severity == "high")
