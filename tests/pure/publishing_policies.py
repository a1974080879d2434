"""Policies of operators' own that publish as the default does: late, not for everybody, or once their process has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from clientscope.errors import InvalidConfigException
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.policy.publishing import PublishingPolicy


class HeldPublisher(PublishingPolicy):
    """Publishes once the file ``held.until`` is there; without ``ends.once``, at the first push its process ends."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        super().configure(configs)
        self._settings = configs

    def process(self, context: RequestContext, data: ClientConfigData) -> Future[None]:
        settings = self._settings
        if (once := settings.get("ends.once")) and not Path(str(once)).exists():
            Path(str(once)).touch()
            os._exit(3)
        while (until := settings.get("held.until")) and not Path(str(until)).exists():
            time.sleep(0.05)
        return super().process(context, data)


class AcksAll(PublishingPolicy):
    """Takes no producer that doesn't wait for all replicas; the file ``processed.file`` says who it was called for."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        super().configure(configs)
        self._processed = Path(str(configs["processed.file"]))

    def process(self, context: RequestContext, data: ClientConfigData) -> Future[None]:
        with self._processed.open("a") as file:
            file.write(f"{context.client_instance_id}\n")
        acks = next((config.value for config in data.configs if config.key == "acks"), "all")
        if acks != "all":
            raise InvalidConfigException(f"acks is {acks}, and must be all")
        return super().process(context, data)
