"""Program of the process that validates samples of history: ``python -m sinks.quality.process FOLDER``.

A look is a line of JSON on its standard input, the versions to begin at by topic, and is answered by a line on its standard output
(`sinks.quality.asking.Looked`). The process ends when its input does, or is killed when a look takes too long.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from typing import Any

from clientscope.local.answering import answer_questions
from sinks.quality.asking import Looked

_NICE = 10
_MOST_BYTES = 1 << 30
"""Of private writable memory (RLIMIT_DATA); beyond it an allocation fails, and with it the look or the process."""


def _ready() -> Callable[[Any], Looked]:
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
    from sinks.quality.checking import SampleChecks  # noqa: PLC0415  within the limits

    checks = SampleChecks(sys.argv[1])

    def look(versions: dict[str, int]) -> Looked:
        looked = checks.look(versions)
        looked["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return looked

    return look


if __name__ == "__main__":
    answer_questions(_NICE, _ready)
