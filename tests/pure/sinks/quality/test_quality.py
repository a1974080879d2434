"""Samples against their suites: what becomes metrics, findings and Data Docs, and that no value does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from places import ROOT
from prometheus_client import CollectorRegistry, generate_latest
from quality_batches import NOW_MS, a_batch, connections, import_the_library, pushes
from record_bytes import config_record, connection_record, setting

from clientscope.findings.conditions import CODES, Conditions
from clientscope.records.topics import CONFIGS, CONNECTIONS
from sinks.quality import quality, verdicts
from sinks.quality.pages import without_elsewhere
from sinks.quality.quality import CODE, MOST_ROWS, Quality, Whole, share_of
from sinks.quality.rates import LastHour
from sinks.quality.suites import SUITES, Suite
from sinks.quality.verdicts import OF, ExpectationVerdict
from udfs.decoding.record_reader import REASONS

CANARY = "canary-5d0e17"


class Job:
    """A process that validates; its clock stands still unless it is moved."""

    def __init__(self, docs: Path) -> None:
        self.docs, self.registry, self.conditions, self.now = docs, CollectorRegistry(), Conditions(), 1_800_000_000.0
        self.quality = Quality(docs, self.conditions, self.registry, lambda: self.now)

    def look(self, topic: str, values: list[bytes], **how: Any) -> set[str]:
        """Validates a batch; returns what failed of it."""
        self.quality.look(topic, a_batch(topic, values, **how))
        assert self.metric("validations_total", topic=topic, outcome="error") == 0
        return {each.name for each in SUITES[topic].expectations if self.success(topic, each.name) == 0}

    def success(self, topic: str, name: str) -> float | None:
        return self.metric("expectation_success", topic=topic, expectation=name)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"clientscope_quality_{name}", labels)


@pytest.fixture(scope="module")
def imported() -> None:
    """The library."""
    import_the_library()


@pytest.fixture
def job(imported: None, tmp_path: Path) -> Job:
    return Job(tmp_path / "data-docs")


def test_good_rows_pass_everything(job: Job) -> None:
    assert job.look(CONFIGS, pushes()) == set()
    assert job.look(CONNECTIONS, connections()) == set()
    for topic, suite in SUITES.items():
        assert all(job.success(topic, each.name) == 1 for each in suite.expectations)
        assert job.metric("validations_total", topic=topic, outcome="passed") == 1
        assert job.metric("sampled_rows_total", topic=topic) == 50
    assert job.conditions.take() == []


BROKEN: list[tuple[str, list[bytes], str]] = [
    (CONFIGS, pushes(*pushes(config_record(received_timestamp_ms=NOW_MS), number=0) * 3), "settings_as_many_as_usual"),
    (CONFIGS, [config_record(setting("a", "b"), received_timestamp_ms=NOW_MS - 3_700_000)], "clock_near_kafkas"),
    (CONFIGS, [config_record(setting("a", "b"), received_timestamp_ms=2**63 - 1)], "clock_near_kafkas"),
    (CONFIGS, [config_record(setting("k" * 1_025, "b"), received_timestamp_ms=NOW_MS)], "keys_as_short_as_usual"),
    (CONFIGS, pushes(config_record(setting("acks", "1", value_length=2), received_timestamp_ms=NOW_MS)), "value_lengths_true"),
    (
        CONFIGS,
        pushes(config_record(setting("a", None, value_state=1, value_digest=b"d" * 32), received_timestamp_ms=NOW_MS)),
        "digests_have_a_key_id",
    ),
    (CONNECTIONS, connections(connection_record(99, [("java", "4", 2, 1, 0)], timestamp_ms=NOW_MS)), "counts_add_up"),
    (CONNECTIONS, connections(connection_record(3, timestamp_ms=NOW_MS)), "sequences_once"),
    (CONNECTIONS, [connection_record(1, timestamp_ms=NOW_MS + 301_000)], "clock_near_kafkas"),
    (CONNECTIONS, connections(connection_record(99, kind=5, timestamp_ms=NOW_MS)), "kind_known"),
    (CONFIGS, pushes(config_record(setting("a", "b"), origin=5, received_timestamp_ms=NOW_MS)), "origin_known"),
]


@pytest.mark.parametrize(("topic", "values", "name"), BROKEN)
def test_what_is_broken_fails_its_expectation_and_no_other(job: Job, topic: str, values: list[bytes], name: str) -> None:
    assert job.look(topic, values) == {name}
    assert job.metric("validations_total", topic=topic, outcome="failed") == 1
    assert (job.metric("unexpected_rows_total", topic=topic, expectation=name) or 0) >= 1


def test_a_record_that_is_read_twice_is_found(job: Job) -> None:
    assert job.look(CONFIGS, pushes(number=3), places=[0, 1, 1]) == {"places_once"}


def test_a_row_that_breaks_a_check_counts_in_whichever_row_it_is(job: Job) -> None:
    """The sample has none of it."""
    sample = a_batch(CONNECTIONS, connections())

    def looked_at(suite: Suite) -> tuple[Whole, Callable[[float], pa.Table]]:
        _, rows = sample(suite)
        return Whole(10 * MOST_ROWS, NOW_MS, {each.name: 3 * (each.name == "kind_known") for each in suite.row_checks}), rows

    job.quality.look(CONNECTIONS, looked_at)
    assert job.success(CONNECTIONS, "kind_known") == 0
    assert job.metric("unexpected_rows_total", topic=CONNECTIONS, expectation="kind_known") == 3


def test_a_finding_begins_with_the_second_failure_and_ends_once_enough_passed(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "PASSED", 3)
    broken = connections(connection_record(99, kind=5, timestamp_ms=NOW_MS))
    job.look(CONNECTIONS, broken)
    assert job.conditions.take() == []
    job.now += 60
    job.look(CONNECTIONS, broken)
    (begun,) = job.conditions.take()
    assert (begun.code, begun.failing, begun.at_ms) == (CODE, True, 1_800_000_060_000)
    assert CODES[begun.code] == "data_not_as_expected"
    assert begun.subject == "expectation kind_known of clientscope.connections"
    assert begun.message.startswith("1 of 51 rows of clientscope.connections break kind_known (")
    for _ in range(2):
        job.look(CONNECTIONS, connections())
    assert [reported for reported in job.conditions.take() if "kind_known" in reported.subject] == []
    job.look(CONNECTIONS, connections())
    ended = {reported.subject: reported for reported in job.conditions.take()}
    assert ended[begun.subject].failing is False


@pytest.mark.parametrize("every", [1, 2, 3, 4, 5, 7, 9])
def test_what_fails_now_and_then_never_flaps(every: int) -> None:
    verdict = ExpectationVerdict()
    changes = sum(verdict.take(number % every == 0) for number in range(500))
    assert changes <= 1
    assert verdict.failing is (True if every < OF else None)


def test_the_rate_is_that_of_the_last_hour_by_kafkas_clock() -> None:
    hour = LastHour()
    reported = [hour.ratio(minute * 60_000, 1_000) for minute in range(1, 71)]
    assert reported[:11] == [None] * 11, "ten minutes aren't known before"
    assert reported[11:] == [pytest.approx(1)] * 59
    assert hour.ratio(71 * 60_000, 10_900) == pytest.approx(10)
    assert hour.ratio(72 * 60_000, 0) == pytest.approx(100 / (100 + (59 * 1_000 + 10_900) / 60), rel=0.02)
    assert hour.ratio(72 * 60_000, 5) is None, "no time has passed"
    quiet = LastHour()
    reported = [quiet.ratio(minute * 60_000, 1) for minute in range(1, 21)]
    assert quiet.ratio(21 * 60_000, 500) == pytest.approx(600 / 101), "a few clients make no storm"


def test_a_storm_fails_the_rate_alone(job: Job) -> None:
    for minute in range(1, 4):
        assert job.look(CONFIGS, pushes(number=2), newest_ms=NOW_MS + minute * 360_000) == set()
    assert job.look(CONFIGS, pushes(number=1_200), newest_ms=NOW_MS + 19 * 60_000) == {"rate_as_in_the_last_hour"}


def test_f34_no_value_and_nothing_that_a_client_chose_is_in_results_docs_or_metrics(
    job: Job, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    who = ("cluster_id", "gateway_id", "listener_name", "security_protocol", "client_address", "principal", "client_id")
    names = dict.fromkeys((*who, "client_software_name", "client_software_version"), CANARY)
    settings = [setting(CANARY, CANARY, config_type=77), setting("x", CANARY, value_length=1)]
    values = [config_record(*settings, **(names | {"cluster_id": CANARY * 200, "origin": 9})) for _ in range(3)]
    results: list[str] = []
    from sinks.quality.validation import Validator

    validate = Validator.validate

    def kept(self: Validator, sample: pa.Table, ratio: float | None) -> Any:
        outcomes, result = validate(self, sample, ratio)
        results.append(json.dumps(result.to_json_dict(), default=str) + str(sample.to_pylist()))
        return outcomes, result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Validator, "validate", kept)
        job.look(CONFIGS, values)
        job.now += 600
        job.look(CONFIGS, values)
        job.look(CONNECTIONS, [connection_record(1, [(CANARY, CANARY, -5, 1, 1)], **(names | {"kind": 9}))])
    reported = job.conditions.take()
    assert len(results) == 3
    assert reported, "it was found all the same"
    docs = "".join(path.read_text() for path in job.docs.iterdir())
    assert "unexpected values found" in docs
    captured = capfd.readouterr()
    everything = (*results, docs, str(reported), generate_latest(job.registry).decode(), captured.out, captured.err, caplog.text)
    assert [text for text in everything if CANARY in text] == []
    assert captured.err == "", "no progress bars, no warnings"


def test_what_goes_wrong_is_counted_and_said_once_without_its_text(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    def fails(suite: Suite) -> Any:
        raise ValueError(CANARY)

    for _ in range(3):
        job.quality.look(CONFIGS, fails)
    assert job.metric("validations_total", topic=CONFIGS, outcome="error") == 3
    (said,) = caplog.records
    place = r"ValueError at test_quality.py:\d+"
    assert re.fullmatch(f"a batch of clientscope.configs could not be validated: {place}; this is said once", said.getMessage())
    assert CANARY not in caplog.text


def test_a_batch_without_rows_is_nothing(job: Job) -> None:
    job.look(CONFIGS, [b"junk"])
    assert job.metric("validations_total", topic=CONFIGS, outcome="passed") == 0


def test_docs_are_made_every_five_minutes_kept_bounded_and_survive_a_restart(job: Job) -> None:
    broken = connections(connection_record(99, kind=5, timestamp_ms=NOW_MS))
    job.look(CONNECTIONS, connections())
    for values in (connections(), broken, connections()):
        job.now += 60
        job.look(CONNECTIONS, values)
    assert len(list(job.docs.glob("*-passed.html"))) == 1
    job.now += 120
    job.look(CONNECTIONS, connections())
    assert [path.name for path in job.docs.glob("*-failed.html")] == ["clientscope.connections-20270115T080200Z-failed.html"]
    (job.docs / "notes.txt").write_text("not ours")
    again = Job(job.docs)
    again.now = job.now
    from sinks.quality import docs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docs, "MOST_RESULTS", 3)
        for _ in range(4):
            again.now += 301
            again.look(CONNECTIONS, connections())
        again.look(CONFIGS, pushes())
    names = sorted(path.name for path in job.docs.iterdir())
    assert len([name for name in names if name.startswith("clientscope.connections-")]) == 3
    assert {"index.html", "clientscope.connections.html", "clientscope.configs.html", "notes.txt"} <= set(names)
    index = (job.docs / "index.html").read_text()
    assert all(f'href="{name}"' in index for name in names if name.endswith("ed.html"))


def test_docs_need_nothing_from_elsewhere_and_their_links_lead_somewhere(job: Job) -> None:
    job.look(CONFIGS, pushes())
    for path in job.docs.glob("*.html"):
        text = path.read_text()
        assert not any(each in text for each in ("<script", "<link", "<img", "<iframe", "://", "javascript:", "onclick", "@import", "url("))
        targets = {part.split('"')[0] for part in text.split('href="')[1:]}
        assert targets
        assert [target for target in targets if not target.startswith("#") and not (job.docs / target).is_file()] == []


def test_pages_are_cleaned_of_whatever_could_act() -> None:
    page = (
        '<html><head><title>t</title><link rel="stylesheet" href="https://e.x/a.css"></head><body onload="a()"><script>b("</p>")</script>'
        '<a href="javascript:c()">one</a><a href="//e.x">two</a><a href="../../index.html" style="d">three</a><img src="https://e.x/i">'
        '<form action="/x"><p>lost</p></form><p class="k" data-x="1">kept &lt;b&gt;</p><svg><a>x</a></svg><br></body></html>'
    )
    assert without_elsewhere(page, "s{}") == (
        '<!doctype html><html><head><title>t</title><style>s{}</style></head><body><a>one</a><a>two</a><a href="index.html">three</a>'
        '<p class="k">kept &lt;b&gt;</p><br></body></html>'
    )


SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/pure", sys.argv[1] + "/tests/pure/sinks/quality"]
from pathlib import Path
seen = []
def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen", "os.system"):
        seen.append((event, str(arguments)))
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.mkdir", "os.rename", "os.remove", "tempfile.mkdtemp", "tempfile.mkstemp"):
        path = Path(os.fsdecode(arguments[0])).resolve()
        if Path(sys.argv[2]) not in (path, *path.parents) and "__pycache__" not in path.parts and path != Path(sys.argv[2]).parent:
            seen.append((event, str(path)))
import test_quality as t
sys.addaudithook(hook)
job = t.Job(Path(sys.argv[2]))
job.look(t.CONFIGS, t.pushes())
job.look(t.CONNECTIONS, t.connections())
assert "great_expectations" in sys.modules and len(list(Path(sys.argv[2]).iterdir())) == 5
print(seen)
"""


def test_the_library_asks_nobody_and_writes_nowhere_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    result = subprocess.run(
        [sys.executable, str(script), str(ROOT), str(tmp_path / "docs")], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_the_library_is_imported_by_nothing_before_the_first_batch() -> None:
    code = (
        "import sys, streaming.job, streaming.worker_daemon, sinks.dashboard.server, clientscope.commands.lint.linting, clientscope.cli; "
        "sys.exit(any(m in sys.modules for m in ('great_expectations', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_no_more_rows_are_validated_than_may_be(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert share_of(MOST_ROWS) == 1
    assert 0.95 * MOST_ROWS < share_of(50_000) * 50_000 < MOST_ROWS, "cut off at random, not by place"
    monkeypatch.setattr(quality, "MOST_ROWS", 30)
    job.look(CONFIGS, pushes(number=50))
    assert job.metric("sampled_rows_total", topic=CONFIGS) == 30


def test_the_docs_name_each_expectation() -> None:
    text = (ROOT / "docs" / "quality.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `") and "clientscope_" not in line]
    named = Counter(name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1]))
    assert set(named) == {each.name for suite in SUITES.values() for each in suite.expectations}
    assert set(named.values()) == {1}


def test_names_are_used_once_in_a_suite_and_are_no_reason_of_the_decoder() -> None:
    for topic, suite in SUITES.items():
        names = Counter(each.name for each in suite.expectations)
        assert set(names.values()) == {1}, topic
        assert not set(names) & set(REASONS)
