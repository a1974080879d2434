"""A policy of an operator's own that publishes as the default does, but not for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from clientscope.errors import InvalidConfigException
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.policy.publishing import PublishingPolicy


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
