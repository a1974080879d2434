"""``clientscope``: the commands, and the only place that wires processes."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clientscope import __version__, config, config_sources
from clientscope.errors import ClientscopeError

_EPILOG = """\
Settings come from flags, from the environment (CLIENTSCOPE_…, named in each command's --help) and from a TOML file
(clientscope.toml, --config, CLIENTSCOPE_CONFIG), in this order of precedence. An unknown key is an error.

Try it:              clientscope demo
A cluster of yours:  clientscope topics, then gateway, stream and serve; see README.md
"""


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

    server.run(settings, again)
    return 0


def _connections(settings: config.ConnectionsSettings) -> int:
    from clientscope.report import connections

    connections.run(settings)
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

    job.run(settings)
    return 0


def _serve(settings: config.ServeSettings) -> int:
    from sinks.dashboard import server

    server.run(settings)
    return 0


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


_COMMANDS: tuple[tuple[type[config.Settings], Callable[..., int]], ...] = (
    (config.DemoSettings, _demo),
    (config.TopicsSettings, _topics),
    (config.GatewaySettings, _gateway),
    (config.ConnectionsSettings, _connections),
    (config.ApiVersionsSettings, _api_versions),
    (config.BrokersSettings, _brokers),
    (config.PushSettings, _push),
    (config.LintSettings, _lint),
    (config.StreamSettings, _stream),
    (config.ServeSettings, _serve),
    (config.BrokerSettings, _broker),
)

_CHECKPOINTS: tuple[tuple[type[config.Settings], Callable[..., int]], ...] = (
    (config.CheckpointsListSettings, _checkpoints_list),
    (config.CheckpointsVerifySettings, _checkpoints_verify),
    (config.CheckpointsBackupSettings, _checkpoints_backup),
    (config.CheckpointsResetSettings, _checkpoints_reset),
)
_CHECKPOINTS_TEXT = "The streaming job's checkpoints: lists, verifies, backs up, and starts a query anew."


_FINDINGS: tuple[tuple[type[config.Settings], Callable[..., int]], ...] = (
    (config.FindingsListSettings, _findings_list),
    (config.FindingsShowSettings, _findings_show),
    (config.FindingsCloseSettings, _findings_close),
    (config.FindingsReopenSettings, _findings_reopen),
)

_FINDINGS_TEXT = "What is wrong: lists findings (which needs no further word), shows one, and takes down what people decide about them."
_FINDINGS_STATUS = "Exit status: 0 done; 1 not done, and nothing was decided, or Kafka has not acknowledged it; 2 wrong use."

_RULES_TEXT = "What is judged of clients' settings: lists the rules, or explains one."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clientscope",
        description="Which clients connect to your Kafka, in which versions, configured how.",
        epilog=_EPILOG,
        formatter_class=config_sources.help_formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"clientscope {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for cls, function in _COMMANDS:
        _add(commands, cls, function)
    findings = commands.add_parser("findings", help=_FINDINGS_TEXT, description=_FINDINGS_TEXT, epilog=_FINDINGS_STATUS, allow_abbrev=False)
    of_findings = findings.add_subparsers(metavar="WHAT", required=True)
    for cls, function in _FINDINGS:
        _add(of_findings, cls, function)
    checkpoints = commands.add_parser("checkpoints", help=_CHECKPOINTS_TEXT, description=_CHECKPOINTS_TEXT, allow_abbrev=False)
    of_checkpoints = checkpoints.add_subparsers(metavar="WHAT", required=True)
    for cls, function in _CHECKPOINTS:
        _add(of_checkpoints, cls, function)
    jars = commands.add_parser("jars", help="Downloads the jars that the broker and Spark need.", allow_abbrev=False)
    jars.add_argument("--lock", action="store_true", help="resolve ivy.xml anew and write jars.sha256 (for developers)")
    jars.set_defaults(_cls=None, _function=_jars)
    rules = commands.add_parser("rules", help=_RULES_TEXT, description=_RULES_TEXT, allow_abbrev=False)
    rules.add_argument("code", nargs="?", help="a rule to explain: its code or name, such as AN101 or acks_zero")
    rules.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how it is told (default: %(default)s)")
    rules.set_defaults(_cls=None, _function=_rules)
    bundle = commands.add_parser("bundle", help="Writes what spark-submit needs to run the job on a cluster.", allow_abbrev=False)
    bundle.add_argument("folder", type=Path, help="where; made if it isn't there")
    bundle.set_defaults(_cls=None, _function=_bundle)
    return parser


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], cls: type[config.Settings], function: object) -> None:
    text = (cls.__doc__ or "").strip()
    name = config_sources.words(cls)[-1]
    command = commands.add_parser(name, help=text, description=text, allow_abbrev=False, formatter_class=config_sources.help_formatter)
    config_sources.add_flags(command, cls)
    command.set_defaults(_cls=cls, _function=function)


def _bundle(flags: dict[str, Any]) -> int:
    from clientscope.local import jars
    from streaming import bundle

    bundle.write(flags["folder"], jars.jars("spark", print))
    print(f"wrote {flags['folder']}; docs/cluster.md says how spark-submit takes it")
    return 0


def _rules(flags: dict[str, Any]) -> int:
    from sinks.rules import command

    return command.run(flags["code"], flags["output"])


def _jars(flags: dict[str, Any]) -> int:
    from clientscope.local import jars

    if flags["lock"]:
        print(f"locked {jars.lock(print)} jars in {jars.LOCK}")
    for configuration in jars.CONFIGURATIONS:
        print(f"{configuration}: {len(jars.jars(configuration, print))} jars in {jars.home() / configuration}")
    return 0


def _with_list(argv: Sequence[str]) -> list[str]:
    """``clientscope findings`` alone lists.  argparse itself would take flags before ``show``, and then forget them."""
    words = list(argv)
    if words[:1] == ["findings"] and (len(words) == 1 or (words[1].startswith("-") and words[1] not in ("-h", "--help"))):
        words.insert(1, "list")
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status: 0, `Settings.error_status` for an error that a person can mend, 2 for wrong use."""
    flags = vars(_parser().parse_args(_with_list(sys.argv[1:] if argv is None else argv)))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # A broker that restarts, or isn't there yet, is our own processes' business to report, in a line of theirs.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        if flags["_cls"] is None:
            return int(flags["_function"](flags))
        load = partial(config_sources.load, flags["_cls"], flags)
        arguments = [load(), load] if flags["_function"] is _gateway else [load()]
        return int(flags["_function"](*arguments))
    except ClientscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return int(getattr(flags["_cls"], "error_status", 1))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
