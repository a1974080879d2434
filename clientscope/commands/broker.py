"""The command ``clientscope broker``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import Settings
from clientscope.config_types import Address


class BrokerSettings(Settings):
    """Runs a real single-node Kafka broker in KRaft mode, for trials and tests; not for production."""

    section = "broker"
    port: int = Field(19091, ge=1, le=65535, description="port of listener CLIENT, which only gateways connect to")
    internal_port: int = Field(19092, ge=1, le=65535, description="port of listener INTERNAL, for clientscope's own processes")
    advertised: Address = Field("127.0.0.1:9092", description="address that CLIENT advertises to clients: the gateway's")
    data_dir: Path = Field(Path("data/broker"), description="directory of logs and metadata; formatted if it is new")
    jmx_port: int = Field(0, ge=0, le=65535, description="port of the JMX exporter's metrics; 0 turns it off")


def run(settings: BrokerSettings) -> int:
    """Runs the broker until it is stopped.

    Raises:
        ClientscopeError: the broker ended by itself.
    """
    import signal

    from clientscope.errors import ClientscopeError
    from clientscope.local.broker import BrokerPlan, EmbeddedBroker

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plan = BrokerPlan(settings.port, settings.internal_port, settings.advertised, settings.data_dir.resolve(), settings.jmx_port)
    broker = EmbeddedBroker(plan, print)
    try:
        broker.start()
        print(
            f"clientscope broker: ready, CLIENT at 127.0.0.1:{plan.port} (advertised {plan.advertised}), INTERNAL at {plan.internal}",
            flush=True,
        )
        status = broker.wait()
        raise ClientscopeError(f"the broker ended by itself with status {status}", f"see {broker.log}")
    except KeyboardInterrupt:
        return 0
    finally:
        broker.stop()


COMMAND = Command(BrokerSettings, run, long_running=True)
