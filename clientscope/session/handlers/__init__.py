"""Handlers: one file for each api key that is read, all listed in `HANDLERS`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from clientscope.session.handler import Handler

_FILES = (
    "k17_sasl_handshake",
    "k18_api_versions",
    "k36_sasl_authenticate",
    "k60_describe_cluster",
    "k71_get_telemetry_subscriptions",
    "k72_push_telemetry",
    "k1324_push_config",
)


def _handler(name: str) -> Handler[Any]:  # pragma: no mutate block  # made when it is imported, before a mutant is chosen
    handler = import_module(f"{__name__}.{name}").HANDLER
    if not isinstance(handler, Handler) or not name.startswith(f"k{handler.key}_"):
        raise TypeError(f"{name}.HANDLER is not a handler of the api key in the file's name")
    return handler


def by_key(handlers: tuple[Handler[Any], ...]) -> dict[int, Handler[Any]]:  # pragma: no mutate block  # likewise
    """The handlers by api key.

    Raises:
        ValueError: two have the same.
    """
    found = {handler.key: handler for handler in handlers}
    if len(found) < len(handlers):
        raise ValueError("two handlers have the same api key")
    return found


HANDLERS: tuple[Handler[Any], ...] = tuple(_handler(name) for name in _FILES)
"""Every handler, by api key."""
