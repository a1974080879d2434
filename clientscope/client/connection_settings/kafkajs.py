"""KafkaJS' dialect, mapped to librdkafka's names; both take certificates as PEM text.

Source: types/index.d.ts of KafkaJS 2.2.4, KafkaConfig and SASLOptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientscope.client.connection_settings import librdkafka
from clientscope.errors import SettingsError

_RENAMED = {
    "brokers": "bootstrap.servers",
    "clientId": "client.id",
    "ssl.ca": "ssl.ca.pem",
    "ssl.cert": "ssl.certificate.pem",
    "ssl.key": "ssl.key.pem",
    "ssl.passphrase": "ssl.key.password",
    "sasl.username": "sasl.username",
    "sasl.password": "sasl.password",
}


def connection_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `clientscope.client.connection_settings.connection_settings`; ``values`` are flat, as in a file."""
    return librdkafka.connection_settings(_as_librdkafka(values))


def _as_librdkafka(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {_RENAMED[name]: value for name, value in settings.items() if name in _RENAMED}
    for name in ("bootstrap.servers", "ssl.ca.pem"):
        if isinstance(found.get(name), list):
            found[name] = ("," if name == "bootstrap.servers" else "\n").join(found[name])
    mechanism = str(settings.get("sasl.mechanism", "")).upper()
    if mechanism not in ("", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise SettingsError(f"sasl.mechanism {mechanism} can't be taken over from KafkaJS", "plain, scram-sha-256 and scram-sha-512 can be")
    tls = settings.get("ssl") is True or any(name.startswith("ssl.") for name in settings)
    found["security.protocol"] = ("SASL_" if mechanism else "") + ("SSL" if tls else "PLAINTEXT")
    if mechanism:
        found["sasl.mechanism"] = mechanism
    if settings.get("ssl.rejectUnauthorized") is False:
        found["enable.ssl.certificate.verification"] = "false"
    return found
