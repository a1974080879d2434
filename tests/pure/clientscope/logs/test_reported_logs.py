"""Logs as people reported them: tests/corpora/logs has them, `golden` what each command says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import Run
from corpora import FOLDER
from golden import asked, is_golden, session

LOGS = FOLDER / "logs"


@pytest.fixture(autouse=True)
def beside_the_logs(clientscope: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(LOGS)
    monkeypatch.delenv("COLUMNS", raising=False)


def test_what_people_reported(clientscope: Run) -> None:
    assert is_golden(session(clientscope, asked(__file__, "reported.txt")), __file__, "reported.txt")


def test_a_name_that_the_broker_fills_in_changes_nothing(clientscope: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-1313 doesn't say yet whether a broker's log has the client.id in requests that come without one."""
    said = clientscope("xray", "l04-kip1313-two-apps.log").printed
    *lines, last = (LOGS / "l04-kip1313-two-apps.log").read_text().replace("null,", '"orders-7",').splitlines()
    monkeypatch.chdir(tmp_path)
    Path("l04-kip1313-two-apps.log").write_text("\n".join([*lines, last.replace("orders-7", "billing-1")]))
    assert clientscope("xray", "l04-kip1313-two-apps.log").printed == said
