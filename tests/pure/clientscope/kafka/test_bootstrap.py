"""A client that finds no broker."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys

import pytest
from kafka.errors import KafkaConnectionError

from clientscope.kafka.access import require_listener

_TRIES = """
import gc, os, socket, sys, threading, kafka
from clientscope.kafka.access import bootstrapped

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


@pytest.mark.parametrize("error", [TimeoutError(), OSError(errno.EHOSTUNREACH, "no route"), socket.gaierror(socket.EAI_AGAIN, "later")])
def test_what_may_answer_later_is_left_to_kafka_python(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def connects(address: tuple[str, int], *_: object) -> None:
        raise ConnectionRefusedError if address[1] == 1 else error

    monkeypatch.setattr(socket, "create_connection", connects)
    require_listener("a:1,b:2")
    with pytest.raises(KafkaConnectionError, match="a:1 refuses connections; c:1 refuses connections"):
        require_listener(["a:1", "c:1"])
