"""The architecture is executable: imports point one way, and the lock names no index."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from clientscope.local import jars

ROOT = Path(__file__).parent.parent.parent


def test_import_contracts() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_no_module_shadows_the_standard_library_or_a_dependency() -> None:
    tops = {path.name.removesuffix(".py") for path in ROOT.iterdir()}
    assert not tops & (set(sys.stdlib_module_names) | {"pyspark", "kafka", "pandas", "pyarrow"})
    for folder in ("clientscope", "streaming", "sinks", "udfs"):
        names = {path.stem for path in (ROOT / folder).rglob("*.py")} - {"__init__"}
        assert not names & set(sys.stdlib_module_names), folder


def test_the_lock_has_hashes_and_no_index_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text and "index-url" not in text
    for block in re.split(r"\n(?=[a-z])", text):
        if re.match(r"[a-z0-9._-]+(\[.*\])?==", block):
            assert "--hash=sha256:" in block, block.splitlines()[0]


def test_every_jar_is_locked_by_its_digest() -> None:
    lines = (ROOT / "clientscope" / "local" / "jars.sha256").read_text().splitlines()
    assert len(lines) > 40
    named = [re.fullmatch(r"[0-9a-f]{64}  ([\w.-]+)/[\w.+-]+\.jar", line) for line in lines]
    assert {match and match[1] for match in named} == {*jars.CONFIGURATIONS, *jars.EXTRA}


def test_commands_start_without_spark() -> None:
    code = (
        "import sys; from clientscope import cli; cli._parser(); sys.exit(any(m in sys.modules for m in ('pyspark', 'pyarrow', 'kafka')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
