"""Exceptions that clientscope raises on purpose."""

from __future__ import annotations


class ClientscopeError(Exception):
    """A problem that the user can fix: the command line prints it as ``error:``, with ``hint`` on the next line and no traceback."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class SettingsError(ClientscopeError):
    """A setting that is unknown, missing or wrong."""


class EnvironmentProblem(ClientscopeError):
    """The machine lacks something: Java, a port, the network, a topic."""


class WireError(Exception):
    """Bytes that are no message; ``reason`` is one word, for a counter's label.  Never quotes the bytes."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class RecordError(WireError):
    """A topic's value that is no record."""


class InvalidConfigException(Exception):
    """Raised by a ClientConfigPolicy to refuse a push; its text becomes the response's ErrorMessage (KIP-1324): INVALID_CONFIG."""


class ClientConfigTooLargeException(Exception):
    """The size of the client configuration data exceeds ``client.config.max.bytes`` (KIP-1324): CONFIG_TOO_LARGE."""
