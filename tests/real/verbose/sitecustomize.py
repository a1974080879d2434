"""Start-up module on PYTHONPATH of processes under test: all their loggers, and their children's, write at level DEBUG.

Their own code knows nothing of this. Python imports a module of this name at each start, Spark's workers included.
"""

from __future__ import annotations

import logging
from typing import Any

_basic, _set_level = logging.basicConfig, logging.Logger.setLevel


def _verbose(**options: Any) -> None:
    _basic(**{**options, "level": logging.DEBUG})


def _at_debug(logger: logging.Logger, level: int | str) -> None:
    # kafka-python says whole requests and records at DEBUG, so our processes let it say nothing at all; that is under test, too.
    silenced = logger.name == "kafka" and level == logging.CRITICAL
    _set_level(logger, level if silenced else logging.DEBUG)


logging.basicConfig = _verbose
logging.Logger.setLevel = _at_debug  # type: ignore[method-assign]
