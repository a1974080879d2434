"""A policy of an operator's own: it publishes as the default does, but takes no producer that doesn't wait for all replicas."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

from clientscope.errors import InvalidConfigException
from clientscope.policy.interface import ClientConfigData, RequestContext
from clientscope.policy.publishing import PublishingPolicy


class AcksAll(PublishingPolicy):
    """Writes down who it was called for, in the file that its setting ``processed.file`` names."""

    def configure(self, configs: dict[str, object]) -> None:  # type: ignore[override]
        super().configure(configs)
        self._processed = Path(str(configs["processed.file"]))

    def process(self, context: RequestContext, data: ClientConfigData) -> Future[None]:
        with self._processed.open("a") as file:
            file.write(f"{context.client_instance_id}\n")
        acks = next((config.value for config in data.configs if config.key == "acks"), "all")
        if acks != "all":
            raise InvalidConfigException(f"acks is {acks}, and must be all")
        return super().process(context, data)
