"""Handlers: one file for each api key that is read, all listed in `HANDLERS`."""

from __future__ import annotations

from typing import Any

from clientscope.session.handler import Handler
from clientscope.session.handlers import (
    k17_sasl_handshake,
    k18_api_versions,
    k36_sasl_authenticate,
    k60_describe_cluster,
    k71_get_telemetry_subscriptions,
    k72_push_telemetry,
    k1324_push_config,
)

HANDLERS: tuple[Handler[Any], ...] = (
    k17_sasl_handshake.HANDLER,
    k18_api_versions.HANDLER,
    k36_sasl_authenticate.HANDLER,
    k60_describe_cluster.HANDLER,
    k71_get_telemetry_subscriptions.HANDLER,
    k72_push_telemetry.HANDLER,
    k1324_push_config.HANDLER,
)
"""Every handler, by api key."""
