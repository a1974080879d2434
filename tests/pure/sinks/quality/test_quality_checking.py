"""Samples of history against their suites, and Data Docs: what fails, and that no value is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from every import every
from places import ROOT
from programs import python
from quality_batches import NOW_MS, UNBALANCED, append, connections, import_the_library, pushes
from record_bytes import config_record, connection_record, setting

from clientscope.catalog.value_states import ValueState
from clientscope.model.topics import CONFIGS, CONNECTIONS
from sinks.quality.process import Validated
from sinks.quality.suites import SUITES

CANARY = "canary-5d0e17"


class Process:
    """What the process holds; its clock stands still unless it is moved."""

    def __init__(self, history: Path) -> None:
        from sinks.quality.checking import DATA_DOCS, SampleChecks

        self.history, self.docs, self.now = history, history / DATA_DOCS, 1_800_000_000.0
        self.checks = SampleChecks(str(history), lambda: self.now)
        self.versions = dict.fromkeys(SUITES, 0)

    def look(self, topic: str, values: list[bytes], **how: Any) -> Validated:
        """Validates one more commit."""
        append(self.history, topic, values, **how)
        return self.again()

    def again(self) -> Validated:
        looked = self.checks.look(self.versions)
        self.versions |= looked["next_versions"]
        (validated,) = looked["validated"]
        return validated

    def failed(self, topic: str, values: list[bytes], **how: Any) -> set[str]:
        """Which expectations do."""
        validated = self.look(topic, values, **how)
        assert validated["error"] == ""
        return {name for name, success, _ in validated["outcomes"] if not success}


@pytest.fixture(scope="module")
def imported() -> None:
    """The library."""
    import_the_library()


@pytest.fixture
def process(imported: None, tmp_path: Path) -> Process:
    return Process(tmp_path / "history")


def test_good_rows_pass_everything_that_no_row_check_has_decided(process: Process) -> None:
    for topic, values in ((CONFIGS, pushes()), (CONNECTIONS, connections())):
        validated = process.look(topic, values)
        assert (validated["topic"], validated["rows"], validated["error"]) == (topic, 50, "")
        assert {name for name, _, _ in validated["outcomes"]} == {each.name for each in SUITES[topic].of_samples}
        assert all(success and not unexpected for _, success, unexpected in every(validated["outcomes"]))


BROKEN: list[tuple[str, list[bytes], str]] = [
    (CONFIGS, pushes(*pushes(config_record(received_ms=NOW_MS), number=0) * 3), "settings_as_many_as_usual"),
    (CONFIGS, [config_record(setting("a", "b"), received_ms=NOW_MS - 3_700_000)], "clock_near_kafkas"),
    (CONFIGS, [config_record(setting("a", "b"), received_ms=2**63 - 1)], "clock_near_kafkas"),
    (CONFIGS, [config_record(setting("k" * 1_025, "b"), received_ms=NOW_MS)], "keys_as_short_as_usual"),
    (
        CONFIGS,
        pushes(config_record(setting("a", None, state=ValueState.KEY_PREFIX, digest=b"d" * 32), received_ms=NOW_MS)),
        "digests_have_a_key_id",
    ),
    (CONNECTIONS, connections(UNBALANCED), "counts_add_up"),
    (CONNECTIONS, connections(connection_record(3, timestamp_ms=NOW_MS)), "sequences_once"),
    (CONNECTIONS, [connection_record(1, timestamp_ms=NOW_MS + 301_000)], "clock_near_kafkas"),
]


@pytest.mark.parametrize(("topic", "values", "name"), BROKEN)
def test_what_is_broken_fails_its_expectation_and_no_other(process: Process, topic: str, values: list[bytes], name: str) -> None:
    assert process.failed(topic, values) == {name}


def test_every_expectation_of_samples_can_fail() -> None:
    elsewhere = {"places_once", "rate_as_in_the_last_hour"}
    assert {name for *_, name in BROKEN} | elsewhere == {each.name for suite in SUITES.values() for each in suite.of_samples}


def test_a_record_that_is_kept_twice_is_found_in_one_commit_or_two(process: Process) -> None:
    assert process.failed(CONFIGS, pushes(number=3), places=[0, 1, 1]) == {"places_once"}
    append(process.history, CONFIGS, pushes(number=1), places=[7])
    assert process.failed(CONFIGS, pushes(number=2), places=[7, 8]) == {"places_once"}


def test_a_storm_fails_the_rate_alone(process: Process) -> None:
    for minute in range(1, 4):
        assert process.failed(CONFIGS, pushes(number=2), newest_ms=NOW_MS + minute * 360_000) == set()
    assert process.failed(CONFIGS, pushes(number=1_200), newest_ms=NOW_MS + 19 * 60_000) == {"rate_as_in_the_last_hour"}


def test_nothing_new_is_nothing(process: Process) -> None:
    assert process.checks.look(process.versions) == {"validated": [], "next_versions": dict.fromkeys(SUITES, 0), "peak_bytes": 0}
    process.failed(CONFIGS, pushes())
    assert process.checks.look(process.versions)["validated"] == []


def test_a_table_that_cannot_be_read_is_said_without_its_text_and_the_next_commit_is_looked_at(process: Process) -> None:
    append(process.history, CONFIGS, pushes())
    (file,) = (process.history / "pushes").rglob("*.parquet")
    file.write_bytes(CANARY.encode() * 100)
    validated = process.again()
    assert validated["error"].startswith("ArrowInvalid at ")
    assert CANARY not in validated["error"]
    assert process.failed(CONFIGS, pushes()) == set()


def test_f34_no_value_and_nothing_that_a_client_chose_is_in_outcomes_or_docs(process: Process, capfd: pytest.CaptureFixture[str]) -> None:
    who = ("cluster", "gateway", "listener", "address", "principal", "client_id")
    names = dict.fromkeys((*who, "software_name", "software_version"), CANARY)
    settings = [setting(CANARY, CANARY), setting("x", CANARY)]
    results: list[str] = []
    from sinks.quality.validation import Validator

    validate = Validator.validate

    def kept(self: Validator, sample: pa.Table, ratio: float | None) -> Any:
        outcomes, result = validate(self, sample, ratio)
        results.append(json.dumps(result.to_json_dict(), default=str) + str(sample.to_pylist()))
        return outcomes, result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Validator, "validate", kept)
        reported = [process.look(CONFIGS, [config_record(*settings, **names) for _ in range(3)])]
        process.now += 600
        reported.append(process.look(CONNECTIONS, [connection_record(1, [(CANARY, CANARY, 5, 1, 1)], **names)]))
    assert len(results) == 2
    docs = "".join(path.read_text() for path in process.docs.iterdir())
    assert "unexpected values found" in docs
    captured = capfd.readouterr()
    assert [text for text in (*results, docs, str(reported), captured.out, captured.err) if CANARY in text] == []
    assert captured.err == "", "no progress bars, no warnings"


def test_docs_are_made_every_five_minutes_kept_bounded_and_survive_a_restart(process: Process) -> None:
    broken = connections(UNBALANCED)
    process.look(CONNECTIONS, connections())
    for values in (connections(), broken, connections()):
        process.now += 60
        process.look(CONNECTIONS, values)
    assert len(list(process.docs.glob("*-passed.html"))) == 1
    process.now += 120
    process.look(CONNECTIONS, connections())
    assert [path.name for path in process.docs.glob("*-failed.html")] == ["clientscope.connections-20270115T080200Z-failed.html"]
    (process.docs / "notes.txt").write_text("not ours")
    again = Process(process.history)
    again.now, again.versions = process.now, process.versions
    from sinks.quality import docs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docs, "MOST_RESULTS", 3)
        for _ in range(4):
            again.now += 301
            again.look(CONNECTIONS, connections())
        again.look(CONFIGS, pushes())
    names = sorted(path.name for path in process.docs.iterdir())
    assert len([name for name in names if name.startswith("clientscope.connections-")]) == 3
    assert {"index.html", "clientscope.connections.html", "clientscope.configs.html", "notes.txt"} <= set(names)
    index = (process.docs / "index.html").read_text()
    assert all(f'href="{name}"' in index for name in every(name for name in names if name.endswith("ed.html")))


def test_docs_need_nothing_from_elsewhere_and_their_links_lead_somewhere(process: Process) -> None:
    process.look(CONFIGS, pushes())
    for path in process.docs.glob("*.html"):
        text = path.read_text()
        assert not any(each in text for each in ("<script", "<link", "<img", "<iframe", "://", "javascript:", "onclick", "@import", "url("))
        targets = {part.split('"')[0] for part in text.split('href="')[1:]}
        assert targets > {"../"}, "and back to clientscope's page"
        assert [target for target in targets - {"../"} if not target.startswith("#") and not (process.docs / target).is_file()] == []


SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/pure", sys.argv[1] + "/tests/pure/sinks/quality"]
from pathlib import Path
import test_quality_checking as t
history = Path(sys.argv[2])
t.append(history, t.CONFIGS, t.pushes())
t.append(history, t.CONNECTIONS, t.connections())
seen = []
def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen", "os.system"):
        seen.append((event, str(arguments)))
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.mkdir", "os.rename", "os.remove", "tempfile.mkdtemp", "tempfile.mkstemp"):
        path = Path(os.fsdecode(arguments[0])).resolve()
        if history / "data-docs" not in (path, *path.parents) and "__pycache__" not in path.parts and path != history:
            seen.append((event, str(path)))
sys.addaudithook(hook)
process = t.Process(history)
assert [each["error"] for each in process.checks.look(process.versions)["validated"]] == ["", ""]
assert "great_expectations" in sys.modules and len(list(process.docs.iterdir())) == 5
print(seen)
"""


def test_the_library_asks_nobody_and_writes_nowhere_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    result = python(script, ROOT, tmp_path / "history", cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("[]\n", "")
