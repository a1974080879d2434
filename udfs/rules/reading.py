"""Judging of the rules in reading.toml, about what a consumer reads, and how it commits."""

from __future__ import annotations

from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import Judgement, judged, judges, known, limit


@judges("AN210")
def fetch_min_bytes_one(push: PushedConfig) -> Judgement:
    # What waits for more than a byte passes; of the rest `streaming.findings` judges, since nothing can be said of a single push.
    return judged(False, push.number("fetch.min.bytes") > 1)


@judges("AN211")
def fetch_wait_unfit(push: PushedConfig) -> Judgement:
    # A wait that is too short is judged without a timeout.
    wait, timeout = push.number("fetch.max.wait.ms"), push.number("request.timeout.ms")
    adds_up = push.software.is_of("franz-go")
    short = wait < limit(push, "AN211", "minimum_ms")
    return judged(short or (wait > timeout and not adds_up), short or (known(wait) and (adds_up or known(timeout))))


@judges("AN212")
def isolation_level_unfit(push: PushedConfig) -> Judgement:
    # What reads only what is committed passes; of the rest `streaming.findings.comparisons` judges, which knows the topics.
    return judged(False, push.text("isolation.level") == "read_committed")


@judges("AN214")
def auto_commit_without_group(push: PushedConfig) -> Judgement:
    # Without a group it is off by default, so only what was set counts.
    asked = push.is_set("enable.auto.commit") and push.text("enable.auto.commit", settled=False) == "true"
    no_group = push.is_absent("group.id")
    known = push.text("group.id") is not None or no_group or (push.text("enable.auto.commit") is not None and not asked)
    return judged(asked and no_group, known)


@judges("AN215")
def rack_unset(push: PushedConfig) -> Judgement:
    # A rack that is set passes; that there is none is known of observed clients alone, where brokers have racks.
    unset = push.is_seen_unset("client.rack")
    return judged(unset, unset or bool(push.text("client.rack")))
