"""What each command runs: the only place that wires processes, and imports what one needs only when it is asked for."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from clientscope import config, core_dumps
from clientscope.errors import ClientscopeError

Command = tuple[type[config.Settings], Callable[..., int]]
"""A command's settings, and what takes them and returns the exit status."""


@dataclass(frozen=True)
class Group:
    """Commands below a word of their own.

    Attributes:
        text: what they are for; status: what their exit status means.
        alone: the command that the word alone means, if any.
    """

    name: str
    text: str
    commands: tuple[Command, ...]
    status: str | None = None
    alone: str = ""
    groups: tuple[Group, ...] = ()


def _broker(settings: config.BrokerSettings) -> int:
    from clientscope.local.broker import Broker, BrokerPlan

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plan = BrokerPlan(settings.port, settings.internal_port, settings.advertised, settings.data_dir.resolve(), settings.jmx_port)
    broker = Broker(plan, print)
    try:
        broker.start()
        print(
            f"clientscope broker: ready, CLIENT at 127.0.0.1:{plan.port} (advertised {plan.advertised}), INTERNAL at {plan.internal}",
            flush=True,
        )
        status = broker.wait()
        raise ClientscopeError(f"the broker ended by itself with {status}", f"see {broker.log}")
    except KeyboardInterrupt:
        return 0
    finally:
        broker.stop()


def _topics(settings: config.TopicsSettings) -> int:
    from clientscope import topics
    from clientscope.kafka_access import KafkaAccess

    created = topics.create(KafkaAccess.of(settings), settings.partitions, settings.replication_factor)
    for name in created:
        print(f"created {name}")
    print("all topics are as they should be")
    return 0


def _gateway(settings: config.GatewaySettings, again: Callable[[], config.GatewaySettings]) -> int:
    from clientscope.gateway import server

    core_dumps.forbid()
    server.run(settings, again)
    return 0


def _connections(settings: config.ConnectionsSettings) -> int:
    from clientscope.report import connections

    connections.run(settings)
    return 0


def _clients(settings: config.ClientsSettings) -> int:
    from clientscope.report import clients

    clients.run(settings)
    return 0


def _top(settings: config.TopSettings) -> int:
    from clientscope.report.top import run

    run(settings)
    return 0


def _api_versions(settings: config.ApiVersionsSettings) -> int:
    from clientscope.report import api_versions

    api_versions.run(settings)
    return 0


def _brokers(settings: config.BrokersSettings) -> int:
    from clientscope.report import brokers

    brokers.run(settings)
    return 0


def _push(settings: config.PushSettings) -> int:
    from clientscope.client import command

    return command.run(settings)


def _lint(settings: config.LintSettings) -> int:
    from sinks.lint import command

    return command.run(settings)


def _stream(settings: config.StreamSettings) -> int:
    from streaming import job

    core_dumps.forbid()
    job.run(settings)
    return 0


def _serve(settings: config.ServeSettings) -> int:
    from sinks.dashboard import server

    core_dumps.forbid()
    server.run(settings)
    return 0


def _deliver(settings: config.DeliverSettings) -> int:
    from sinks.alerts import command

    core_dumps.forbid()
    return command.run(settings)


def _dead_list(settings: config.DeadListSettings) -> int:
    from sinks.alerts import command

    return command.dead_list(settings)


def _dead_replay(settings: config.DeadReplaySettings) -> int:
    from sinks.alerts import command

    return command.dead_replay(settings)


def _demo(settings: config.DemoSettings) -> int:
    from clientscope.demo import run

    return run.run(settings)


def _checkpoints_list(settings: config.CheckpointsListSettings) -> int:
    from streaming.checkpoints import command

    return command.list_(settings)


def _checkpoints_verify(settings: config.CheckpointsVerifySettings) -> int:
    from streaming.checkpoints import command

    return command.verify(settings)


def _checkpoints_backup(settings: config.CheckpointsBackupSettings) -> int:
    from streaming.checkpoints import command

    return command.backup(settings)


def _checkpoints_reset(settings: config.CheckpointsResetSettings) -> int:
    from streaming.checkpoints import command

    return command.reset(settings)


def _findings_list(settings: config.FindingsListSettings) -> int:
    from clientscope.report.findings import command

    command.list_(settings)
    return 0


def _findings_show(settings: config.FindingsShowSettings) -> int:
    from clientscope.report.findings import command

    command.show(settings)
    return 0


def _findings_close(settings: config.FindingsCloseSettings) -> int:
    from clientscope.report.findings import command

    command.close(settings)
    return 0


def _findings_reopen(settings: config.FindingsReopenSettings) -> int:
    from clientscope.report.findings import command

    command.reopen(settings)
    return 0


def _history_maintain(settings: config.HistoryMaintainSettings) -> int:
    from sinks.history import command

    command.run_maintain(settings)
    return 0


def _history_erase(settings: config.HistoryEraseSettings) -> int:
    from sinks.history import command

    command.run_erase(settings)
    return 0


COMMANDS: tuple[Command, ...] = (
    (config.DemoSettings, _demo),
    (config.TopicsSettings, _topics),
    (config.GatewaySettings, _gateway),
    (config.ConnectionsSettings, _connections),
    (config.ClientsSettings, _clients),
    (config.TopSettings, _top),
    (config.ApiVersionsSettings, _api_versions),
    (config.BrokersSettings, _brokers),
    (config.PushSettings, _push),
    (config.LintSettings, _lint),
    (config.StreamSettings, _stream),
    (config.ServeSettings, _serve),
    (config.BrokerSettings, _broker),
)

GROUPS: tuple[Group, ...] = (
    Group(
        "findings",
        "What is wrong: lists findings (which needs no further word), shows one, and takes down what people decide about them.",
        (
            (config.FindingsListSettings, _findings_list),
            (config.FindingsShowSettings, _findings_show),
            (config.FindingsCloseSettings, _findings_close),
            (config.FindingsReopenSettings, _findings_reopen),
        ),
        status="Exit status: 0 done; 1 not done, and nothing was decided, or Kafka has not acknowledged it; 2 wrong use.",
        alone="list",
    ),
    Group(
        "deliver",
        "Delivers findings to Alertmanager, web hooks, Slack, mail and others (which needs no further word), and what was given up again.",
        ((config.DeliverSettings, _deliver),),
        status="Exit status: 0 done; 1 not done, or a receiver didn't take its --test; 2 wrong use.",
        alone="run",
        groups=(
            Group(
                "dead",
                "What could not be delivered and was given up: lists it, and has it delivered once more.",
                ((config.DeadListSettings, _dead_list), (config.DeadReplaySettings, _dead_replay)),
            ),
        ),
    ),
    Group(
        "checkpoints",
        "The streaming job's checkpoints: lists, verifies, backs up, and starts a query anew.",
        (
            (config.CheckpointsListSettings, _checkpoints_list),
            (config.CheckpointsVerifySettings, _checkpoints_verify),
            (config.CheckpointsBackupSettings, _checkpoints_backup),
            (config.CheckpointsResetSettings, _checkpoints_reset),
        ),
    ),
    Group(
        "history",
        "The streaming job's history, which are Delta tables: looks after them, and erases who must be forgotten.",
        ((config.HistoryMaintainSettings, _history_maintain), (config.HistoryEraseSettings, _history_erase)),
    ),
)

LONG_RUNNING = (
    config.DemoSettings,
    config.GatewaySettings,
    config.StreamSettings,
    config.ServeSettings,
    config.DeliverSettings,
    config.BrokerSettings,
)
"""What ends with a traceback where it fails by a fault of ours: its log may be all that anybody has."""

RELOADING = (config.GatewaySettings,)
"""What is given a way to read its settings again, too."""
