"""The page's application over a state: of this machine, by default without configurations, history, or anybody who writes decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from clientscope.bounded_http import refusals
from sinks.dashboard.api.app import create_app
from sinks.dashboard.http import files
from sinks.dashboard.http.access import Access, Visitor
from sinks.dashboard.past.asking import Past
from sinks.dashboard.state.state import State

LOCAL = Access(anyone=Visitor("local", "admin"), loopback_only=True)


def page_app(state: State, clock: Callable[[], int], **parts: Any) -> FastAPI:
    """``parts`` is what `create_app` takes besides."""
    usual = {
        "alive": lambda: True, "stopping": lambda: False, "data_docs_dir": None, "access": LOCAL,
        "fetch": lambda places: {}, "write": lambda *written: None,
        "past": Past(None), "refused": refusals(CollectorRegistry()),
    }  # fmt: skip
    return create_app(state, files.load(), clock, **{**usual, **parts})
