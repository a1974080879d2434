"""Import hook that installs the push once kafka-python is imported. Until then it costs one comparison per import, and imports nothing.

Only what Python 3.7 has: the application's Python may be older than what clientscope needs, which is reported once it imports kafka-python.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as type checkers understand it, without importing typing
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

_BOOLEANS = {"true": True, "false": False}


def start() -> None:
    """Installs the push now or when ``kafka`` is imported."""
    if "kafka" in sys.modules:
        _install()
    else:
        sys.meta_path.insert(0, _WhenKafkaIsImported())


class _WhenKafkaIsImported:
    """A finder that lets the others find ``kafka``, and acts once it has been executed."""

    def __init__(self) -> None:
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "kafka" or self._asking:  # another finder of this kind asks all, us again among them
            return None
        self._asking = True
        try:
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
                if spec is not None:
                    self._follow(spec.loader)
                    return spec
        finally:
            self._asking = False
        return None

    def _follow(self, loader: Any) -> None:
        # The loader is kafka's alone, and stays the one that it is: packages ask their loader for their data files.
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _install()

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            _warn(error)


def _install() -> None:
    try:
        from clientscope.client import install  # noqa: PLC0415 (only now is it known that kafka-python is there)

        keys = os.environ.get("CLIENTSCOPE_CLIENT_CONFIG_PUSH_ALLOWED_KEYS")
        install(enable_config_push=_enabled(), config_push_allowed_keys=keys)
    except Exception as error:
        _warn(error)


def _enabled() -> bool:
    text = os.environ.get("CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH", "true")
    if text.lower() not in _BOOLEANS:
        raise ValueError(f"CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH is {text!a}; it is true or false")
    return _BOOLEANS[text.lower()]


def _warn(error: Exception) -> None:
    if sys.stderr is not None:
        said = " ".join(str(error)[:500].split())
        sys.stderr.write(f"clientscope-run: no configuration is pushed: {type(error).__name__}: {said}\n")
