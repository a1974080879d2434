"""What rich prints, as the lines of a text."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console


def printed(content: Any, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(content)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
