"""Names, spellings and defaults of each dialect, compared with the libraries if they are installed; conversion of a user's settings."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest
from golden import cases, is_golden

from clientscope.catalog import sensitive
from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS, dialect
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.settings import libraries, numbers
from clientscope.catalog.value_states import ValueState
from clientscope.client.settings import collect_dialect
from clientscope.commands.push import PushSettings
from clientscope.errors import ClientscopeError
from clientscope.logs.client_logs import wrongly_logged

CLASS_LISTS = ("metric.reporters", "partition.assignment.strategy")
"""Names of classes are known as defaults, and never pushed."""


@pytest.mark.parametrize("each", DIALECTS, ids=lambda each: each.name)
def test_every_default_is_a_setting_of_kafkas_that_may_be_pushed(each: Dialect) -> None:
    for client_type in each.defaults:
        for version in ("", "2.0.0", "1.0.0"):
            for key, value in each.defaults_of(client_type, version).items():
                redacted = ValueState.TYPE if key in CLASS_LISTS and "." in value else ValueState.PRESENT
                assert sensitive.reason(key, value, TYPES[key]) is redacted, key
                assert value == each.kafka_value(key, key, value), "a default is in Kafka's spelling"
                if TYPES[key] in (Type.INT, Type.SHORT):
                    assert value.lstrip("-").isdigit(), key
    names = [*each.aliases.values(), *(key for aliases in each.aliases_of.values() for key in aliases.values())]
    assert {key for key in names if key not in TYPES} <= {"topic.request.timeout.ms"}


@pytest.mark.parametrize("client_type", ClientType)
def test_a_java_client_has_a_value_for_what_is_pushed_by_default(client_type: ClientType) -> None:
    pushed = {entry.key for entry in collect_dialect("java", client_type, {}).entries}
    assert set(DEFAULT_KEYS[client_type]) - pushed <= {"application.id", "client.id", "group.id"}


KEYS = {ClientType(of): keys.split() for of, keys in cases(__file__, "keys.txt")}
KAFKAJS = {
    "clientId": "orders",
    "retry": {"retries": 8},
    "producer": {"maxInFlightRequests": 1, "idempotent": True},
    "send": {"acks": -1, "compression": 1},
    "consumer": {"groupId": "g", "sessionTimeout": 6000, "readUncommitted": True},
    "fromBeginning": True,
    "configPushAllowedKeys": "groupId,sessionTimeout",
}


@pytest.mark.parametrize("each", DIALECTS, ids=lambda each: each.name)
def test_settings_and_defaults_in_kafkas_words(each: Dialect) -> None:
    """What stands in the text: types of clients, with a release or settings, and below each what it comes to; defaults are behind a bar.

    KAFKA-13598 is of Java's 3.0.0 and 3.1.0; -ccs and -ce are of Confluent's releases; franz-go's 0.1.0 is what those before 1.1.3 say.
    """
    text = ""
    for line in (Path(__file__).parent / "golden" / f"{each.name}.txt").read_text().splitlines()[::2]:
        of, _, given = line.partition(" ")
        settings = ast.literal_eval(given) if "{" in given else {}
        keys = KEYS[ClientType(of)]
        found = {
            entry.key: entry for entry in collect_dialect(each.name, ClientType(of), settings, keys, "" if settings else given).entries
        }
        shown = [found[key] for key in keys if key in found]
        chosen, defaults = (
            [f"{entry.key}={entry.value}" for entry in shown if entry.is_default is is_default] for is_default in (False, True)
        )
        text += f"{line}\n  {' '.join(chosen)} | {' '.join(defaults)}\n"
    assert is_golden(re.sub("(?m) +$", "", text), __file__, f"{each.name}.txt")


def test_kafkajs_names_what_may_be_pushed() -> None:
    assert [entry.key for entry in collect_dialect("kafkajs", ClientType.CONSUMER, KAFKAJS).entries] == ["group.id", "session.timeout.ms"]


def test_the_command_knows_every_dialect_and_client_type() -> None:
    fields = PushSettings.model_fields
    assert get_args(fields["dialect"].annotation) == tuple(each.name for each in DIALECTS)
    assert set(get_args(fields["client_type"].annotation)) == {"", *(client_type.value for client_type in ClientType)}


def test_an_unknown_dialect() -> None:
    with pytest.raises(ClientscopeError, match="unknown dialect 'cobol'") as caught:
        dialect("cobol")
    assert caught.value.hint == "known: java, librdkafka, kafka-python, aiokafka, kafkajs, franz-go, sarama"


@pytest.mark.parametrize(("kind", "release", "keys"), cases(__file__, "wrongly_logged.txt"))
def test_up_to_the_release_that_corrects_it(kind: str, release: str, keys: str) -> None:
    assert wrongly_logged(ClientType(kind), numbers(release)) == set(keys.split())


def test_what_is_named_instead_is_the_librarys_own() -> None:
    for each in DIALECTS:
        own, *others = sorted(libraries().values(), key=lambda library: library.name != each.name)
        for name, instead in each.instead.items():
            assert own.setting(name) is None and any(other.setting(name) for other in others), (each.name, name)
            assert own.setting(instead.split()[0]), (each.name, instead)
