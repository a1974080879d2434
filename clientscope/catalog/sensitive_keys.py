"""Sensitive keys, as data: those that KIP-1324 excludes, and among all keys those of credentials.

Sources: KIP-1324 "Excluding Sensitive Configuration" (prefixes, infixes, suffixes); the ConfigDefs of Kafka, its brokers and Connect; the
settings of librdkafka, kafka-python, sarama, kafkajs, Confluent's and Azure's clients, Spring and Debezium for the words.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share, and are written for names as `spellings` gives them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.known_keys import is_custom
from clientscope.catalog.value_states import ValueState

PREFIXES = ("sasl.", "security.", "ssl.")
INFIXES = (".sasl.", ".security.", ".ssl.")
SUFFIXES = (".class", ".classes")

_CLASS_KEYS = sorted(key for key, config_type in TYPES.items() if config_type is Type.CLASS and not key.startswith(PREFIXES))

EXCLUDED = (
    (ValueState.KEY_PREFIX, f"(?:^| )(?:{'|'.join(map(re.escape, PREFIXES))})"),
    (ValueState.KEY_INFIX, "|".join(map(re.escape, INFIXES))),
    (ValueState.KEY_SUFFIX, f"(?:{'|'.join(map(re.escape, SUFFIXES))})(?:$| )"),
    (ValueState.TYPE, f"(?:^|[ .])(?:{'|'.join(map(re.escape, _CLASS_KEYS))})(?:$| )"),
)
"""KIP-1324's exclusion by name, the first that applies; and of type CLASS whatever type the client says."""

CLASS_LISTS = (
    r"(?:^|[ .])(?:partition\.assignment\.strategy|metric\.reporters|interceptor\.classes|windowed\.inner\.(?:class\.)?serde"
    r"|rest\.extension\.classes|security\.providers|(?:key|value|header)\.converter)(?:$| )"
)
"""Settings whose values are names of classes, with a package or without: Kafka's of type LIST or STRING, and Connect's converters."""

CLASS_WORDS = (
    r"(?:strateg(?:y|ies)|assignors?|assigners?|balancers?|reporters?|interceptors?|serdes?|serializers?|deserializers?|converters?"
    r"|partitioners?|providers?|listeners?|handlers?|extractors?|suppliers?|store|retriever|validator|setter|factory|factories"
    r"|extensions?|plugins?|transforms?|predicates?)(?:$| )"
)
"""Ends of a key whose value may be the name of a class, of any library."""

CREDENTIAL = (
    r"passw(?:or)?d|passphrase|passcode|pwd(?:[0-9. ]|$)|(?:^|[. ])(?:pass|pw|(?:dest|src)?(?:store|key|trust)pass)[0-9]*(?:[. ]|$)"
    r"|secret|credential|jaas"
    # Much else has to do with tokens.
    r"|token[0-9]*(?:\.(?:id|value|secret|key|prod|production|staging|stage|test|dev|old|new|primary|secondary))?(?: |$)"
    r"|(?:api|access|account|shared|private|master|signing|encryption|license|subscription|auth)\.?key(?:[0-9. ]|$)"
    r"|keystore\.key(?: |$)|key\.pem(?: |$)|user\.?info(?:[. ]|$)|basic\.auth(?: |$)|(?:^| )auths\.[^ ]{1,200}\.auth(?: |$)|/\.auth(?: |$)"
)
"""Words within a key that say that its value is a credential."""


def _mistyped(word: str) -> str:
    """An expression of a word with one letter too many, wrong, missing, or swapped with the next one."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return "|".join(
        [f"{before}[a-z0-9]{after}" for before, after in parts]
        + [f"{before}[a-z0-9]?{after[1:]}" for before, after in parts[:-1]]
        + [f"{before}{after[1]}{after[0]}{after[2:]}" for before, after in parts[:-2]]
    )


# Words of which no other word is one letter away. An expression, since no search for near names is cheap enough for hostile pushes.
_MISTYPED_WORDS = "|".join(map(_mistyped, ("password", "passphrase", "secret", "credential")))
MISTYPED = rf"(?:^|[. ])(?:(?:{_MISTYPED_WORDS})s?[0-9]*|sasl\.(?:{_mistyped('jaas')})\.config)(?:[. ]|$)"
"""Such a word with one typing error, and Kafka's one name with ``jaas``, which alone is near to too many."""

ABOUT_CREDENTIAL = (
    # Its place, its provider, its properties.
    r"(?:url|uri|urls|endpoint|file|files|filename|path|location|directory|class|provider|providers|source|store)$"
    r"|\.(?:dir|type|name|names|ref|arn|algorithm|encoding|format|method|mode|kind|version|length|size|iterations|header|prefix|suffix)$"
    r"|(?:username|principal)$|\.(?:user|host|port|servers|topic|region|mechanism|protocol|level|factor|realm|issuer|audience|scope|scopes|claim)$"
    r"|(?:client|group|service|tenant|account|application|credentials?)\.id$|(?:key|trust)store\.credentials$|key\.credentials$|(?:pull|push|config)\.?secrets?$"
    # For how long it is good.
    r"|(?:time|timeout|lifetime|lifespan|expiry|expiration|interval)$|\.(?:ms|sec|secs|seconds|minutes|hours|days|ttl|max|min|count|limit|jitter|window)$"
    # Whether there is one.
    r"|(?:enable|enabled|disable|disabled|required|policy|converter|converters|serializer|deserializer|serde|strategy)$"
)
"""Ends of a key that has such a word, and says something about a credential without being one: ``….token.endpoint.url``."""

IDENTIFIER = (
    r"(?:cluster|topic|directory|node|trace|span|schema|image|commit|build|account|project|subscription)\.?id$"
    r"|\.(?:digest|checksum|fingerprint|hash|sha[0-9]*|integrity|base64)$"
)
"""Keys whose values look random without being secrets.  Ids that any client may choose (client.id, group.id) aren't among them."""

_LONGEST_REMEMBERED = 128
_LOWER_UPPER = re.compile("([a-z0-9])([A-Z])")
_UPPER_WORD = re.compile("([A-Z])([A-Z][a-z])")
_EXCLUDED = tuple((state, re.compile(pattern)) for state, pattern in EXCLUDED)
_CREDENTIAL, _ABOUT_CREDENTIAL, _IDENTIFIER = re.compile(f"{CREDENTIAL}|{MISTYPED}"), re.compile(ABOUT_CREDENTIAL), re.compile(IDENTIFIER)
_CLASS_LISTS, _CLASS_WORDS = re.compile(CLASS_LISTS), re.compile(CLASS_WORDS)


Classes = Literal["", "any", "qualified"]
"""Whether values may be names of classes: no; with a package before them or without; with a package alone."""


class KeyJudgement(NamedTuple):
    """What a key alone says.

    Attributes:
        excluded: KIP-1324's reason, or ``ValueState.PRESENT``.
        credential: whether the value is a credential.
        identifier: whether it is an id or a digest, which look random.
        classes: whether its value may be names of classes.
        custom: whether no client library calls a setting so.
    """

    excluded: ValueState
    credential: bool
    identifier: bool
    classes: Classes
    custom: bool


def normalise(key: str) -> str:
    """A key in Kafka's spelling: dots where a dialect writes underscores, in lower case."""
    return key.replace("_", ".").lower()


def spellings(key: str) -> str:
    """A key as the patterns above expect it: as it is, and with camelCase taken apart (``saslPassword``), a space between.

    Both, since ``passWord`` and ``oAuth`` aren't two words.
    """
    apart = _UPPER_WORD.sub(r"\1.\2", _LOWER_UPPER.sub(r"\1.\2", key))
    return normalise(f"{key} {apart}".replace("-", "_"))


def judge_key(key: str) -> KeyJudgement:
    """What a key implies about its value.  Short keys are remembered: the same few come with every push."""
    return _remembered(key) if len(key) <= _LONGEST_REMEMBERED else _judge(key)


def _judge(key: str) -> KeyJudgement:
    names = spellings(key)
    excluded = next((state for state, pattern in _EXCLUDED if pattern.search(names)), ValueState.PRESENT)
    credential = _CREDENTIAL.search(names) is not None and _ABOUT_CREDENTIAL.search(names) is None
    classes: Classes = "any" if _CLASS_LISTS.search(names) else "qualified" if _CLASS_WORDS.search(names) else ""
    return KeyJudgement(excluded, credential, _IDENTIFIER.search(names) is not None, classes, is_custom(key))


_remembered = lru_cache(maxsize=2048)(_judge)
