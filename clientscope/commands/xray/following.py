"""Logs of a broker that are followed while its requests are logged: files, standard input, and the output of a command."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

from clientscope.errors import SettingsError
from clientscope.local.process import spawn, stop
from clientscope.logs.following import Followed, FollowedPipe, open_logs


def open_all(paths: list[Path | None], command: str, broker: int, stack: ExitStack) -> list[Followed]:
    """Begins to follow files, standard input (None), and the command's output.

    Args:
        command: its words, without a shell; ``{broker}`` is replaced. Empty for none.

    Raises:
        SettingsError: a file can't be read, or the command can't be started.
    """
    followed = open_logs(paths, stack)
    if command:
        words = [word.replace("{broker}", str(broker)) for word in shlex.split(command)]
        try:
            child = spawn(words, stdout=subprocess.PIPE)
        except OSError as error:
            raise SettingsError(f"--command: {error.strerror}: {words[0]}", "give a program and its arguments, as in a shell") from None
        stack.callback(stop, child, 5.0)
        assert child.stdout is not None
        followed.append(FollowedPipe(shlex.join(words), child.stdout.fileno()))
    return followed
