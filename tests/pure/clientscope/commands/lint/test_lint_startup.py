"""What ``clientscope lint`` doesn't import, as a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from clientscope.__main__ import main
sys.argv = ["clientscope", "lint", "--fail-on", "never", sys.argv[1]]
status = main()
print(status, *(name in sys.modules for name in ("pandas", "pyspark", "kafka", "clientscope.findings.record", "pyarrow")))
"""


def test_neither_pandas_nor_spark_nor_what_reads_topics(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("acks=2\nclient.id=orders\n")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.properties")]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "CF103" in output
    assert output.splitlines()[-1] == "0 False False False False True"
