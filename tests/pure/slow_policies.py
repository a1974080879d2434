"""Policies that take their time, or end at the first push, as files say that their settings name."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.policy.publishing import PublishingPolicy


class HeldPublisher(PublishingPolicy):
    """Publishes as the default does, once the file ``held.until`` is there; without ``ends.once``, at the first push its process ends."""

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
