"""Brokers by a script, and what clients log of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scripted_broker import ScriptedBroker


@pytest.fixture
def broker() -> Iterator[Callable[..., ScriptedBroker]]:
    """Makes one with these settings."""
    brokers: list[ScriptedBroker] = []

    def make(**settings: Any) -> ScriptedBroker:
        brokers.append(ScriptedBroker(**settings))
        return brokers[-1]

    yield make
    for made in brokers:
        made.close()


@pytest.fixture
def server(broker: Callable[..., ScriptedBroker]) -> ScriptedBroker:
    return broker()


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Our own; kafka-python has others, of a machine that is slow."""
    return lambda: [each.getMessage() for each in caplog.records if each.name == "clientscope.client" and each.levelno >= logging.WARNING]
