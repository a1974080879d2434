"""Work in a thread of its own."""

from __future__ import annotations

import threading


class Background:
    """Work from `start` until soon after `stop`.  A subclass does it in ``_run``, which ends once ``_stopping`` is set."""

    def __init__(self, name: str) -> None:
        """
        Args:
            name: the thread's.
        """
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Begins to work."""
        self._thread.start()

    def stop(self, patience_s: float = 5.0) -> None:
        """Asks it to end, and waits so many seconds at most."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(patience_s)

    def is_alive(self) -> bool:
        """Whether it works."""
        return self._thread.is_alive()
