"""Classification of connection failures: whether a push may succeed later, and which text may be shown."""

from __future__ import annotations

import re
import ssl

import kafka.errors

from clientscope.errors import ClientscopeError, EnvironmentProblem

_FINAL = (
    kafka.errors.SaslAuthenticationFailedError,
    kafka.errors.UnsupportedSaslMechanismError,
    kafka.errors.IllegalSaslStateError,
    kafka.errors.AuthorizationError,
    kafka.errors.InvalidRequestError,
    kafka.errors.KafkaConfigurationError,
    FileNotFoundError,
    PermissionError,
)
_CONNECTION_ENDED = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def is_final(error: Exception) -> bool:
    """Whether no other attempt would end otherwise: credentials, certificates and settings stay what they are."""
    causes = (error, error.__context__, *error.args)  # kafka-python wraps what TLS said, in either way
    if tls := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        return not isinstance(tls, _CONNECTION_ENDED)
    return isinstance(error, _FINAL) or not isinstance(error, kafka.errors.KafkaError | OSError | EnvironmentProblem)


def said(error: Exception) -> str:
    """The error in words that hold no secret."""
    name = type(error).__name__
    if isinstance(error, ClientscopeError):
        return str(error)
    if not isinstance(error, kafka.errors.KafkaError | OSError):
        return name  # what else is raised may quote a secret
    text = re.sub(rf"^(\[Error -?\d+\] )?({name}(: |$))*", "", str(error))[:300]
    return f"{name}: {text!r}" if text else name
