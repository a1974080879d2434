"""Implementation of the ``clientscope-run`` command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = str(Path(__file__).with_name("path"))
"""What goes first on PYTHONPATH."""

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127  # as a shell has them

_DESCRIPTION = """\
Runs COMMAND so that each of its kafka-python clients (kafka-python 3) pushes its configuration (KIP-1324), without a change to it.
COMMAND is anything that starts Python: python app.py, python -m app, gunicorn app:app, a shell script. The Python processes that
it starts are included. It keeps this process' id, its input, its signals and its exit status. Whatever goes wrong with this is
one line on its standard error, and it runs on without.
"""

_EPILOG = """\
environment, for clients that don't set these themselves:
  CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH        true or false [default true]
  CLIENTSCOPE_CLIENT_CONFIG_PUSH_ALLOWED_KEYS  the keys to push, with commas between [default: those of KIP-1324]

COMMAND's Python must have clientscope installed. One that ignores PYTHONPATH (python -I, -E, -S) runs without.

examples:
  clientscope-run python app.py
  clientscope-run gunicorn --workers 4 app:app
  opentelemetry-instrument clientscope-run python app.py   (it passes no other runner on, so it stands first)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Becomes the command; returns only where it can't, with the exit status that a shell would have."""
    parser = argparse.ArgumentParser(
        prog="clientscope-run", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", metavar="COMMAND", help="what to run")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments, as they are")
    given = parser.parse_args(argv)
    environment = {**os.environ, "PYTHONPATH": _python_path(os.environ.get("PYTHONPATH", ""))}
    # Python ignores these two, and what is ignored stays so over an exec: a pipeline in a script would no longer end.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvpe(given.command, [given.command, *given.arguments], environment)  # noqa: S606 (it is what the user asks for)
    except FileNotFoundError:
        return _failed(_NOT_FOUND, f"{given.command}: command not found", "give a program on PATH or a path to one, such as: python app.py")
    except OSError as error:
        return _failed(_NOT_EXECUTABLE, f"{given.command}: {error.strerror}", "a Python file that isn't executable: python FILE")


def _python_path(present: str) -> str:
    # An empty entry would be the current folder: what is there stays, and none is added.
    entries = present.split(os.pathsep) if present else []
    return os.pathsep.join([FOLDER, *(entry for entry in entries if entry != FOLDER)])


def _failed(status: int, message: str, hint: str) -> int:
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
