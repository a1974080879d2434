"""Judging of the rules in groups.toml, about a consumer's membership of its group."""

from __future__ import annotations

from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, MEDIUM, Judgement, judged, judges, known, limit


@judges("AN201")
def heartbeat_interval_long(push: PushedConfig) -> Judgement:
    heartbeat, session = push.number("heartbeat.interval.ms"), push.number("session.timeout.ms")
    rare = heartbeat > session * limit(push, "AN201", "fraction")
    return judged(rare and not _run_by_broker(push), known(heartbeat, session), HIGH if heartbeat >= session else MEDIUM)


@judges("AN204")
def poll_interval_below_session(push: PushedConfig) -> Judgement:
    interval, session = push.number("max.poll.interval.ms"), push.number("session.timeout.ms")
    return judged(interval < session, known(interval, session))


@judges("AN206")
def poll_records_many(push: PushedConfig) -> Judgement:
    records, interval = push.number("max.poll.records"), push.number("max.poll.interval.ms")
    many = records > limit(push, "AN206", "maximum_records")
    return judged(many and interval <= limit(push, "AN206", "interval_ms"), known(records, interval))


def _run_by_broker(push: PushedConfig) -> bool:
    """Whether sessions, heartbeats and assignments are the broker's to set (KIP-848)."""
    return push.text("group.protocol") == "consumer"


_EAGER = {"range", "roundrobin"}


def _only_eager(strategies: str) -> bool:
    names = [item.strip().rpartition(".")[2].lower() for item in strategies.split(",") if item.strip()]
    plain = {name.removesuffix("assignor").removesuffix("partition") for name in names}
    return bool(plain) and plain <= _EAGER


@judges("AN213")
def eager_rebalancing(push: PushedConfig) -> Judgement:
    # By the last part of each class's name, which is the same in all libraries but for the word at its end.
    strategies = push.text("partition.assignment.strategy")
    by_broker = _run_by_broker(push)
    return judged(_only_eager(strategies or "") and not by_broker, strategies is not None or by_broker)


@judges("AN216")
def static_member_unfit(push: PushedConfig) -> Judgement:
    # A dynamic member passes; of the rest `streaming.findings` judges, since nothing can be said of a single push.
    return judged(False, push.is_absent("group.instance.id"))
