"""A client that finds no broker."""

from __future__ import annotations

import subprocess
import sys

import pytest

_TRIES = """
import gc, os, socket, sys, threading, kafka
from clientscope.kafka.bootstrap import bootstrapped

silent = socket.create_server(("127.0.0.1", 0))

def tried():
    try:
        bootstrapped(getattr(kafka, sys.argv[1]), bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}", bootstrap_timeout_ms=100)
    except kafka.errors.KafkaTimeoutError:
        gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()

print(tried() == tried() == tried())
"""


@pytest.mark.parametrize("name", ["KafkaConsumer", "KafkaAdminClient", "KafkaProducer"])
def test_f47_a_client_that_finds_no_broker_leaves_nothing_behind(name: str) -> None:
    """In a process of its own: pytest keeps errors, and they what was open."""
    ended = subprocess.run([sys.executable, "-c", _TRIES, name], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "True\n", ended
