"""``clientscope stream`` over a test's broker, with folders and a digest key of its own, whether it runs or not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from observe import children, is_gone, metrics, private_file, write
from outcome import Place, comes_out
from patience import LIMIT_S, until
from record_bytes import config_record, setting

from clientscope.demo.fleet import Fleet
from clientscope.digest import DigestKey
from clientscope.local.process import free_port
from clientscope.model.topics import CONFIGS

KEY = DigestKey(b"0123456789abcdef" * 4)


class StreamJob:
    """One job, and others after it or beside it.

    Attributes:
        page: where it has its metrics and probes, with a slash at its end.
        skipped: places of records that are none, for `comes_out`.

    Args:
        flags: what each start of it has.
        history, checkpoints: where they are, if not in ``folder``.
    """

    def __init__(self, servers: str, folder: Path, *flags: str, history: str | Path = "", checkpoints: str | Path = "") -> None:
        self.servers, self.folder, self._flags = servers, folder, flags
        self.history, self.checkpoints = history or folder / "history", checkpoints or folder / "checkpoints"
        self.page = f"http://127.0.0.1:{free_port()}/"
        self.processes = Fleet(folder / "logs", lambda line: None)
        self.key = private_file(folder / "digest.key", KEY.secret)
        self.skipped: dict[Place, int] = {}

    def arguments(self, *flags: str) -> list[str]:
        return [
            "stream", "--bootstrap-servers", self.servers, "--checkpoint-dir", str(self.checkpoints), "--history-dir", str(self.history),
            "--history-interval-seconds", "1", "--driver-memory", "1g", "--digest-key-file", str(self.key),
            "--metrics-listen", self.page.split("/")[2], *self._flags, *flags,
        ]  # fmt: skip

    def push(self, *client_ids: str, partition: int | None = None) -> None:
        """As a gateway would write it of each, once Kafka has them."""
        records = [(each.encode(), config_record(setting("acks", "all"), client_id=each)) for each in client_ids]
        write(self.servers, CONFIGS, *records, partition=partition)

    def start(self, name: str = "stream", *flags: str) -> None:
        self.processes.start(name, *self.arguments(*flags))

    def ready(self, name: str = "stream") -> None:
        self.processes.await_ready(name, timeout_s=LIMIT_S)

    @contextmanager
    def running(self, name: str = "stream", *flags: str) -> Iterator[None]:
        """It is ready; all processes are stopped when left."""
        try:
            self.start(name, *flags)
            self.ready(name)
            yield
        finally:
            self.processes.stop()

    def kill(self, whole: bool = True) -> None:
        """With -9: the Python process, whose JVM then notices and ends; or ``whole``, and the JVM and all workers are gone as well."""
        below = children(self.processes.pid("stream")) if whole else []
        self.processes.signal("stream", signal.SIGKILL)
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: all(is_gone(pid) for pid in below))

    def log(self, name: str = "stream") -> str:
        return (self.folder / "logs" / f"{name}.log").read_text(errors="replace")

    def counted(self, name: str) -> dict[tuple[str, ...], float]:
        """A metric's samples that aren't 0, by the values of their labels."""
        return {key[1:]: number for key, number in metrics(f"{self.page}metrics").items() if key[0] == name and number}

    def comes_out(self) -> None:
        """Waits until everything that was written has come out, and compares."""
        comes_out(self.servers, self.history, KEY, self.skipped)
