"""How long a newcomer waits for the first report: ``make bench-first-report``.

An environment of its own, clientscope and all that it needs from the package index without pip's cache, then ``clientscope xray`` of real
brokers with real clients. Brokers and their clients are there before the clock starts, as they are at a site.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

import kafka
from conftest import start_broker
from rich.console import Console
from rich.table import Table

from clientscope.local.broker import EmbeddedBroker

CHECKOUT = Path(__file__).parents[1]
RELEASES = {"broker-2.8": "2.8", "broker-3.9": "3.9", "broker": "4.4"}
TOPIC = "orders"


@contextmanager
def used_broker(release: str, folder: Path) -> Iterator[EmbeddedBroker]:
    """A broker with a producer and a consumer."""
    broker, running = start_broker(folder / release, release)
    ended = Event()

    def work() -> None:
        with (
            closing(kafka.KafkaProducer(bootstrap_servers=running.internal, client_id="orders-1", acks=0)) as producer,
            closing(kafka.KafkaConsumer(TOPIC, bootstrap_servers=running.internal, client_id="billing-1", group_id="billing")) as consumer,
        ):
            while not ended.wait(0.1):
                producer.send(TOPIC, b"x")
                consumer.poll(timeout_ms=200)

    client = Thread(target=work)
    try:
        with closing(kafka.KafkaAdminClient(bootstrap_servers=running.internal)) as admin:
            admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
        client.start()
        yield broker
    finally:
        ended.set()
        if client.is_alive():
            client.join()
        broker.stop()


def timed(*command: str | Path) -> float:
    """Seconds that a command takes.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    began = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="that each broker logs")
    given = parser.parse_args()
    view = Table("brokers", "install, s", "report, s", "both, s", "report, KiB", title="From nothing to the first report")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "venv" / "bin" / "python"
        install = timed(sys.executable, "-m", "venv", folder / "venv")
        install += timed(python, "-m", "pip", "install", "--no-cache-dir", CHECKOUT)
        for release, shown in RELEASES.items():
            with used_broker(release, folder) as broker:
                html = folder / f"{release}.html"
                cluster = ("--bootstrap-servers", broker.plan.internal, "--seconds", str(given.seconds), "--yes")
                report = timed(folder / "venv" / "bin" / "clientscope", "xray", *cluster, "--html", html, broker.log)
            size = html.stat().st_size / 1024
            assert "billing" in html.read_text(), "the report shows the clients"
            view.add_row(shown, f"{install:.0f}", f"{report:.1f}", f"{install + report:.0f}", f"{size:.0f}")
    Console().print(view)


if __name__ == "__main__":
    main()
