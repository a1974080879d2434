"""Patch of kafka-python's own classes so that they push, for applications whose code can't be changed.

The classes stay the ones they are, so this reaches subclasses, and code that imported them before.  Their ``__init__`` is all that changes.
"""

from __future__ import annotations

import functools
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import kafka

from clientscope.catalog.configs import ClientType
from clientscope.client.pushing import SETTINGS, Pushing, prepare, require_bool
from clientscope.client.settings import split_keys

_CLASSES: dict[Any, ClientType] = {
    kafka.KafkaProducer: ClientType.PRODUCER,
    kafka.KafkaConsumer: ClientType.CONSUMER,
    kafka.KafkaAdminClient: ClientType.ADMIN,
}
_ATTRIBUTE = "_clientscope_handshake"

_lock = threading.Lock()
_originals: dict[Any, Callable[..., None]] = {}
_defaults: dict[str, Any] = {}


def install(*, enable_config_push: bool = True, config_push_allowed_keys: str | Iterable[str] | None = None) -> None:
    """Makes every `kafka.KafkaProducer`, `kafka.KafkaConsumer` and `kafka.KafkaAdminClient` of this process push, from now on.

    They take the settings of `clientscope.client`; the arguments are for clients that don't set these two.  May be called again, by any
    thread: the last call's arguments hold.  A client that exists already is left as it is.

    Raises:
        SettingsError: an argument is invalid.
    """
    global _defaults  # noqa: PLW0603 (replaced whole, since clients read it without the lock)
    keys = None if config_push_allowed_keys is None else tuple(split_keys(config_push_allowed_keys, "config_push_allowed_keys"))
    require_bool("enable_config_push", enable_config_push)
    given = {"enable_config_push": enable_config_push, "config_push_allowed_keys": keys}
    with _lock:
        _defaults = {name: value for name, value in given.items() if value != SETTINGS[name]}
        for client_class, client_type in _CLASSES.items():
            if client_class not in _originals:
                _originals[client_class] = client_class.__init__
                client_class.__init__ = _pushing(client_class.__init__, client_type)


def uninstall() -> None:
    """Undoes `install`: for tests, which share their process with others.  Clients that exist stay as they are."""
    with _lock:
        for client_class, original in _originals.items():
            client_class.__init__ = original
        _originals.clear()


def client_instance_id(client: Any) -> uuid.UUID | None:
    """What one of kafka-python's own clients says it is, since `install`; None if it says nothing."""
    # Not a property of the class: a user's subclass may have an attribute of that name.
    handshake = getattr(client, _ATTRIBUTE, None)
    return handshake.client_instance_id if handshake else None


def _pushing(original: Callable[..., None], client_type: ClientType) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **configs: Any) -> None:  # noqa: N807
        if not isinstance(self, Pushing):  # those have prepared it themselves
            self.config = {}  # kafka-python's producer names itself by it at its end, even where it was never made
            handshake, configs = prepare(client_type, {**_defaults, **configs})
            setattr(self, _ATTRIBUTE, handshake)
        original(self, *args, **configs)

    return __init__
