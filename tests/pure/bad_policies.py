"""Policies that do what a pushed setting asks for, in a process of their own: `act` says what a push may ask."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from clientscope.errors import InvalidConfigException, SettingsError
from clientscope.policy.interface import ClientConfigData, ClientConfigPolicy, RequestContext
from clientscope.policy.publishing import PublishingPolicy


def act(what: str, leaked: list[bytearray]) -> None:
    """Behaves badly."""
    if what == "sleep":
        time.sleep(5)
    elif what == "sleep a little":
        time.sleep(0.15)
    elif what == "refuse late":
        time.sleep(0.15)
        raise InvalidConfigException("acks must be all")
    elif what == "raise":
        raise ValueError("hunter2")
    elif what == "refuse":
        raise InvalidConfigException("acks must be all")
    elif what == "loop":
        while True:
            pass
    elif what == "exit":
        os._exit(3)
    elif what == "segfault":
        ctypes.string_at(0)
    elif what == "memory":
        while True:
            leaked.append(bytearray(1024 * 1024))
    elif what == "leak":
        leaked.append(bytearray(20 * 1024 * 1024))
    elif what == "die_later":
        threading.Timer(0.05, os._exit, (3,)).start()


class Acting(ClientConfigPolicy):
    """Acts on the setting ``act`` of a push, and publishes the setting ``publish``; its own settings are ``start`` and ``greeting``."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._configs = configs
        self._leaked: list[bytearray] = []
        if configs.get("start") == "refuse":
            raise SettingsError("no start", "set start to something else")
        act(str(configs.get("start")), self._leaked)

    def process(self, context: RequestContext, data: ClientConfigData) -> None:
        settings = {config.key: config.value for config in data.configs}
        if "publish" in settings:
            size = int(settings.get("size", "5"))
            self._configs["clientscope.publish"]("topic", settings["publish"], b"v" * size)
        if settings.get("act") == "greet":
            raise InvalidConfigException(str(self._configs.get("greeting")))
        if settings.get("act") == "pid":
            raise InvalidConfigException(str(os.getpid()))
        act(settings.get("act", ""), self._leaked)

    def close(self) -> None:
        if path := self._configs.get("closed.file"):
            with open(path, "a") as file:  # noqa: PTH123
                file.write("closed\n")

    def reconfigurable_configs(self) -> frozenset[str]:
        return frozenset({"greeting"})

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        if configs.get("greeting") == "rude":
            raise SettingsError("the greeting is rude")

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        if configs.get("greeting") == "break":
            raise ValueError("hunter2")
        self._configs = configs


class ActingPublisher(PublishingPolicy):
    """Publishes as the default does, once it has acted on the client's own software name (``act-sleep`` sleeps)."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        super().configure(configs)
        self._leaked: list[bytearray] = []

    def process(self, context: RequestContext, data: ClientConfigData) -> None:
        act(context.software_name.removeprefix("act-"), self._leaked)
        super().process(context, data)
