"""Judging of the rules in keys.toml, about keys that the library doesn't know, or knows otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.catalog.setting_names import NameState, is_plugins
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, INFO, MEDIUM, Judgement, judges, pointing

_REFUSING = ("librdkafka", "kafka-python", "aiokafka")
"""Libraries that don't start with a setting that they don't know."""


def _unknown(push: PushedConfig) -> Iterator[tuple[int, int]]:
    """The settings whose name nobody knows, each with how bad that is: in a file all but plug-ins', else those near to a known one."""
    refusing = push.software.is_of(*_REFUSING)
    for place in push.named(NameState.UNKNOWN):
        judgement = push.judgements[place]
        near = judgement is not None and bool(judgement.instead)
        # Applications share a file with a serializer's settings, and take them out before they make the client.
        if near or (push.complete and not is_plugins(push.settings[place].key)):
            yield place, HIGH if refusing else MEDIUM if near else INFO


@judges("CF101")
def key_unknown(push: PushedConfig) -> Judgement:
    found = dict(_unknown(push))
    # A push that isn't searched to its end isn't clean: thousands of unknown names in one batch are no client's mistake.
    known = push.software_known and (push.searched or push.complete)
    return pointing(push.noted(found, "did you mean {instead}?"), known, max(found.values(), default=None))


@judges("CF105")
def key_deprecated(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.named(NameState.DEPRECATED), "use {instead}"), bool(push.software.release))


@judges("CF106")
def key_removed(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.named(NameState.REMOVED), "gone since {since}"), bool(push.software.release))


@judges("CF107")
def key_not_yet(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.named(NameState.NOT_YET), "since {since}"), bool(push.software.release))


@judges("CF108")
def key_set_twice(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.twice), push.software_known)


@judges("CF109")
def key_of_other_library(push: PushedConfig) -> Judgement:
    severity = HIGH if push.complete and push.software.is_of(*_REFUSING) else None
    return pointing(push.noted(push.named(NameState.OF_OTHER_LIBRARY), "did you mean {instead}?"), push.software_known, severity)


@judges("CF110")
def key_of_other_client(push: PushedConfig) -> Judgement:
    return pointing(push.noted(push.named(NameState.OF_OTHER_CLIENT)), push.software_known and push.client_type is not None)
