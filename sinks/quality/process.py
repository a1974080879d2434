"""Program of the process that validates samples of history: ``python -m sinks.quality.process FOLDER``.

A look is a line of JSON on its standard input, the versions to begin at by topic, and is answered by a line on its standard output
(`sinks.quality.asking.Looked`). The process ends when its input does, or is killed when a look takes too long. Others go first where they
want the CPU or memory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from clientscope import core_dumps

_NICE = 10
_MOST_BYTES = 1 << 30
"""Of private writable memory (RLIMIT_DATA); beyond it an allocation fails, and with it the look or the process."""


def main() -> None:
    """Answers until its input ends."""
    os.nice(_NICE)
    with suppress(OSError):  # Linux: where memory runs out, this process goes rather than the job
        Path("/proc/self/oom_score_adj").write_text("1000")
    core_dumps.forbid()
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    from sinks.quality.checking import SampleChecks  # noqa: PLC0415  within the limits

    checks = SampleChecks(sys.argv[1])
    for line in sys.stdin.buffer:
        looked = checks.look(json.loads(line))
        looked["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answers.write(json.dumps(looked).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
