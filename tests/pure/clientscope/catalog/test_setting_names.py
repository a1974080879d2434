"""What a setting's name is to a client of a library, a release and a kind."""

from __future__ import annotations

import pytest

from clientscope.catalog import setting_names
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import dialect
from clientscope.catalog.setting_names import NameState, judge
from clientscope.catalog.settings import libraries

PRODUCER, CONSUMER, STREAMS = ClientType.PRODUCER, ClientType.CONSUMER, ClientType.STREAMS


NAMES: dict[tuple[str, str, ClientType | None], dict[str, tuple[str, str]]] = {
    ("java", "4.4.0", PRODUCER): {
        "linger.ms": ("KNOWN", ""),
        "linger.msec": ("UNKNOWN", "linger.ms"),
        "linegr.ms": ("UNKNOWN", "linger.ms"),
        "LINGER_MS": ("UNKNOWN", "linger.ms"),
        "lingerMs": ("UNKNOWN", "linger.ms"),
        "com.example.orders": ("UNKNOWN", ""),
        "schema.registry.url": ("UNKNOWN", ""),
        "value.serializr": ("UNKNOWN", "value.serializer"),
        "value.serialiser2": ("UNKNOWN", ""),
        "ack": ("UNKNOWN", ""),
        "queue.buffering.max.ms": ("OF_OTHER_LIBRARY", "linger.ms"),
        "linger_ms": ("OF_OTHER_LIBRARY", "linger.ms"),
    },
    ("java", "4.4.0", CONSUMER): {"linger.ms": ("OF_OTHER_CLIENT", "")},
    ("java", "4.4.0", None): {"linger.ms": ("KNOWN", "")},
    ("java", "4.4.0", STREAMS): {"linger.ms": ("KNOWN", ""), "main.consumer.fetch.min.bytes": ("KNOWN", "")},
    ("java", "3.7.0", PRODUCER): {"compression.gzip.level": ("NOT_YET", "")},
    ("java", "3.9.0", PRODUCER): {"auto.include.jmx.reporter": ("DEPRECATED", "")},
    ("java", "4.0.0", PRODUCER): {"auto.include.jmx.reporter": ("REMOVED", "")},
    ("java", "unknown", PRODUCER): {"compression.gzip.level": ("KNOWN", ""), "auto.include.jmx.reporter": ("KNOWN", "")},
    ("librdkafka", "2.8.0", PRODUCER): {"queue.buffering.max.ms": ("KNOWN", "")},
    ("librdkafka", "2.8.0", CONSUMER): {
        "fetch.max.wait.ms": ("OF_OTHER_LIBRARY", "fetch.wait.max.ms"),
        "buffer.memory": ("OF_OTHER_LIBRARY", "queue.buffering.max.kbytes"),
    },
    ("librdkafka", "1.8.2", PRODUCER): {"sasl.oauthbearer.scope": ("NOT_YET", "")},
    # 1.9 wasn't read, so what 2.0 has may be in it.
    ("librdkafka", "1.9.0", PRODUCER): {"sasl.oauthbearer.scope": ("KNOWN", "")},
    ("librdkafka", "1.9.2", PRODUCER): {"enable.metrics.push": ("NOT_YET", "")},
    ("kafka-python", "3.0.12", PRODUCER): {"linger.ms": ("OF_OTHER_LIBRARY", "linger_ms")},
    ("aiokafka", "0.14.0", PRODUCER): {"batch_size": ("OF_OTHER_LIBRARY", "max_batch_size")},
}
"""By library, release and kind of client: names, with what they are and what to use instead."""


@pytest.mark.parametrize(("client", "name"), [(client, name) for client, names in NAMES.items() for name in names])
def test_a_name_is_judged(client: tuple[str, str, ClientType | None], name: str) -> None:
    library, release, kind = client
    of_library = dialect(library)
    found = judge(of_library, of_library.release_of(release), kind, name)
    assert (found.state.name, found.instead) == NAMES[client][name]


def test_what_is_pushed_has_kafkas_names() -> None:
    assert judge(dialect("kafka-python"), (3, 0, 12), PRODUCER, "linger.ms", written=False).state is NameState.KNOWN


def test_a_name_of_a_hostile_length_is_compared_with_none() -> None:
    assert judge(dialect("java"), (), PRODUCER, "linger.ms" * 1000).instead == ""


def test_facts_come_with_the_name() -> None:
    facts = judge(dialect("java"), (4, 4, 0), PRODUCER, "acks").facts
    assert facts is not None
    assert facts.allowed is not None
    assert not facts.allowed.takes("2")


def test_releases_without_end_take_no_memory() -> None:
    """A client may say any version: the names that are compared are kept for each release that was read alone."""
    before = setting_names._of_kinds.cache_info().currsize
    for number in range(200):
        judge(dialect("java"), (4, 5, number), PRODUCER, "linger.mss")
    assert setting_names._of_kinds.cache_info().currsize <= before + 1


@pytest.mark.parametrize("release", [(0, 10), (2, 0, 1), (3, 1, 0), (3, 9, 99), (4, 4, 0), (99,)])
def test_the_release_that_was_read_has_the_same_settings(release: tuple[int, ...]) -> None:
    java = libraries()["java"]
    read = java.read_up_to(release)
    for setting in filter(None, map(java.setting, sorted(java.names))):
        for kind in setting.kinds:
            assert setting.now(kind, release) == setting.now(kind, read)
