"""Connected clients of one application, counted as they come and go, so that comparing applications doesn't visit each client."""

from __future__ import annotations

from typing import NamedTuple

from streaming.findings import ordered
from streaming.findings.inputs import JudgedPush, Settings


class Variant(NamedTuple):
    """What clients with the same release of a library and the same settings have in common.

    Attributes:
        settings: clients with the same settings share one object (`streaming.findings.inputs.InputReader`).
        clients: how many they are.
    """

    software_name: str
    software_version: str
    settings: Settings
    clients: int


class LiveClients:
    """Those of one application.

    Attributes:
        pushes: their newest, in the order of `streaming.findings.ordered`.
    """

    __slots__ = ("_variants", "pushes")

    def __init__(self) -> None:
        self.pushes: list[JudgedPush] = []
        self._variants: dict[tuple[str, str, int], Variant] = {}

    def __len__(self) -> int:
        return len(self.pushes)

    @property
    def variants(self) -> list[Variant]:
        """Each different one."""
        return list(self._variants.values())

    @property
    def newest_ms(self) -> int:
        """When one of them last pushed; 0 where there are none."""
        return self.pushes[-1].appended_ms if self.pushes else 0

    def add(self, push: JudgedPush) -> None:
        """A client is connected."""
        ordered.add(self.pushes, push)
        self._count(push, 1)

    def discard(self, push: JudgedPush) -> None:
        """It isn't any more, or has pushed again."""
        if ordered.discard(self.pushes, push):
            self._count(push, -1)

    def _count(self, push: JudgedPush, by: int) -> None:
        key = push.software_name, push.software_version, id(push.settings)
        known = self._variants.get(key)
        count = by + (known.clients if known else 0)
        if count:
            self._variants[key] = Variant(push.software_name, push.software_version, push.settings, count)
        else:
            del self._variants[key]
