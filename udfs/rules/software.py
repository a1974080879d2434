"""Judging of the rules in software.toml, about what a client is: its client.id, its software, and the brokers that it is made for."""

from __future__ import annotations

import re

from clientscope.catalog.configs import ClientType
from clientscope.catalog.settings import Release, numbers
from clientscope.catalog.vocabulary import UNKNOWN
from clientscope.model.setting import Setting
from clientscope.readiness.served import known_releases, served
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, MEDIUM, Judgement, judged, judges

_MADE_UP = re.compile(
    r"|rdkafka|kgo|sarama|kafkajs|(?:producer|consumer|adminclient)-\d+|consumer-null-\d+"
    r"|kafka-python-(?:[\d.]+|producer-\d+|consumer-\d+|admin-\d+)|aiokafka-(?:[\d.]+|producer-\d+|consumer-\d+)",
    re.ASCII,
)


@judges("AN306")
def client_id_anonymous(push: PushedConfig) -> Judgement:
    # By the setting, or else by the request header; a name that a library makes up is recognised by its shape.
    pushed = push.text("client.id")
    if pushed is None:
        made_up = not push.is_set("client.id") and _MADE_UP.fullmatch(push.record.client_id or "") is not None
    else:
        made_up = push.is_default("client.id") or _MADE_UP.fullmatch(pushed) is not None
    return judged(made_up and not push.text("application.id"), True)


_FIXED_IN: dict[Release, int] = {(3, 9): 2, (4, 0): 2, (4, 1): 2}
"""Release → the patch that has KAFKA-19012's fix; later releases have it from the start."""


def _misdirects(release: Release) -> bool:
    patch = release[2] if len(release) > 2 else 0
    return len(release) > 1 and (2, 8) <= release < (4, 2) and patch < _FIXED_IN.get(release[:2], patch + 1)


@judges("AN307")
def software_known_bad(push: PushedConfig) -> Judgement:
    # By the software's name and version, and whether the client produces.
    it = push.software
    release = it.release if it.is_of("java") else ()
    may_be_fixed = it.version.endswith(("-ccs", "-ce"))  # Confluent's
    misdirects = _misdirects(release) and not may_be_fixed
    # Where acks turns idempotence off by itself, it makes no difference that it is off.
    not_applied = release[:3] in {(3, 0, 0), (3, 1, 0)} and push.text("acks") not in ("0", "1")
    produces = not push.candidates.isdisjoint({ClientType.PRODUCER, ClientType.STREAMS})
    surely = produces and (push.client_type is not None or push.shared)
    # A release is at least 2.0.0, and a version may be older.
    refused = bool(release) and it.dialect is not None and it.dialect.numbers_of(it.version) < (0, 11)
    always = refused or (surely and not_applied and not push.is_set("enable.idempotence"))
    fired = always or () < release < (2, 1) or (surely and misdirects)
    named = it.dialect is not None and bool(release or it.dialect.name != "java")
    undecided = produces and ((not surely and (misdirects or not_applied)) or (may_be_fixed and _misdirects(release)))
    # Its other bugs have nothing to do with a setting.
    settings = push.evidence(("enable.idempotence",)) if surely and not_applied else []
    return judged(fired, fired or (named and not undecided), HIGH if always else MEDIUM, settings)


@judges("AN308")
def software_unknown(push: PushedConfig) -> Judgement:
    # By the name alone.
    return judged(push.software.name in ("", UNKNOWN), True)


_PINS = {"librdkafka": "broker.version.fallback", "kafka-python": "api_version", "aiokafka": "api_version", "sarama": "Version"}
"""Library → its setting of the release of brokers for which it sends requests."""
_PRODUCE, _PRODUCE_OF = 0, ((0, 8), (0, 9), (0, 10), (0, 11))
"""Produce's key, and the releases of brokers that brought its versions 0 to 3."""
_BASELINE = (2, 1)
"""The oldest release of brokers whose requests Kafka's developers test with those of 4.0 and later."""


@judges("AN314")
def version_pinned(push: PushedConfig) -> Judgement:
    said = {each.key: each.value for each in push.settings if each.value is not None}
    key = _PINS.get(push.software.dialect.name, "") if push.software.dialect else ""
    pinned = numbers(said.get(key, "").strip("([ ").replace(", ", ".").replace(",", "."))
    asks = key == "broker.version.fallback" and said.get("api.version.request", "true").strip().lower() not in ("false", "f", "0")
    oldest = served(known_releases()[-1])[_PRODUCE][0]
    severity = HIGH if pinned < _PRODUCE_OF[min(oldest, len(_PRODUCE_OF) - 1)] else MEDIUM
    fired = bool(pinned) and pinned < _BASELINE and not asks
    return judged(fired, bool(pinned) or push.complete, severity, [Setting(key, said.get(key))])
