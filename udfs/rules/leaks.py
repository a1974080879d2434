"""Rules about settings that hold secrets, or that KIP-1324 keeps on the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientscope.catalog.sensitive import Tier
from clientscope.policy.redaction import tier_of
from clientscope.records.config_record import RecordedSetting
from clientscope.records.enums import Origin, ValueState
from udfs.rules.engine.push import Push, hidden
from udfs.rules.engine.rule import Judgement, Rule, judged, registered

Holds = Callable[[Push, RecordedSetting], bool]
"""Whether a setting whose value isn't there is what a rule is about."""


def leak_rule(code: str, **said: Any) -> Callable[[Holds], Rule]:
    """Makes and registers a rule of the function that knows such settings; see `udfs.rules.engine.rule.rule`. It can always judge."""

    def made(holds: Holds) -> Rule:
        def evaluate(push: Push) -> Judgement:
            found = [hidden(each, each.key, "pushed") for each in push.settings if each.redacted is not None and holds(push, each)]
            return judged(bool(found), True, None, found)

        return registered(code, holds, evaluate=evaluate, **said)

    return made


def _is(setting: RecordedSetting, state: ValueState) -> bool:
    return setting.redacted is not None and setting.redacted.reason == state.name.lower()


def _by_client(push: Push) -> bool:
    """Whether a client sent it to a gateway."""
    return push.record.origin in (Origin.PUSHED, Origin.OBSERVED)


@leak_rule(
    "SK001",
    severity="critical",
    risks=("secret",),
    messages=(
        "",
        "No pushed setting is a credential by its key or type.",
        "This client pushes settings that hold credentials: keep them out of what it pushes, and replace the credentials.",
    ),
)
def pushed_credential(push: Push, setting: RecordedSetting) -> bool:
    """SK001: a client pushed a setting whose key or type is that of a credential.

    What
        A pushed setting is of type PASSWORD, or its key is that of a password, secret, token or key, in any dialect's spelling, or of an
        application's own.  ``reason`` says by which of KIP-1324's exclusions, or of ours, it was redacted.  A value that is empty, a
        template or a login module without a password is none (SK003).

    Why
        KIP-1324 keeps such settings on the client.  One that was pushed has crossed the network and reached whoever reads the
        pushes; the gateway redacts it, but that the client sends it at all means that it will leak elsewhere.

    Example
        ``sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";``

    Use instead
        A client that applies KIP-1324's exclusion, and ``config.push.allowed.keys`` without such keys; then a new credential.

    Source
        KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
        The words: docs/leaks.md
    """
    # Settings that are credentials by key or type, or for a reason that only a newer gateway knows.
    return tier_of(setting) is Tier.CREDENTIAL and not _is(setting, ValueState.VALUE_SHAPE)


@leak_rule(
    "SK002",
    severity="critical",
    risks=("secret",),
    messages=(
        "",
        "No value that the client sends has the shape of a credential.",
        "This client sends a credential within a setting or a name that isn't meant for one: take it out, and replace it.",
    ),
)
def credential_in_value(push: Push, setting: RecordedSetting) -> bool:
    """SK002: a client sent a credential in the value of a setting, or in a name, that isn't meant for one.

    What
        A value under a key that says nothing of a credential has the shape of one: a private key, a JWT, a password in a URL, in JAAS or in
        a connection string, an access key of a cloud or a service. ``client.id``, ``group.id`` and ``transactional.id`` count too, also of
        clients that push nothing: their requests show them. So do the software's name and version, and the principal.

    Why
        No exclusion by key keeps it on the client. A name with a secret in it is in each request, and in brokers' logs, metrics and quotas.

    Example
        ``client.id=AKIAIOSFODNN7EXAMPLE``

    Use instead
        A value without it, and a new credential: the old one has been in every place that shows this setting.

    Source
        The published formats of these credentials, as in GitHub's secret scanning:
        https://docs.github.com/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
        The shapes: docs/leaks.md
    """
    # Settings with a credential's shape in their value, under a key that says nothing of one.
    return _is(setting, ValueState.VALUE_SHAPE)


@leak_rule(
    "SK003",
    severity="info",
    risks=("secret",),
    messages=(
        "",
        "No pushed setting is one that KIP-1324 excludes.",
        "This client pushes settings that KIP-1324 keeps on the client: take them out of config.push.allowed.keys.",
    ),
)
def excluded_setting(push: Push, setting: RecordedSetting) -> bool:
    """SK003: a client pushed a setting that KIP-1324 keeps on the client, or that would hold a credential, without a secret in it.

    What
        A pushed setting is excluded by name or type (``sasl.``, ``security.``, ``ssl.``, ``.class``, CLASS) without being a credential,
        or its key is that of a credential and its value holds none: it is empty, a template, a file's name, a login module without a
        password.  A certificate counts here.

    Why
        No secret has got out.  But a client that pushes these doesn't apply KIP-1324's exclusion, and would push a password as well.

    Example
        ``security.protocol=SASL_SSL``

    Use instead
        ``config.push.allowed.keys`` without such keys.

    Source
        KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    """
    # Settings that are kept back without being secrets; of pushes alone, since no client sent what a log shows.
    return tier_of(setting) is Tier.EXCLUDED and not _is(setting, ValueState.CUSTOM) and _by_client(push)


@leak_rule(
    "SK004",
    severity="low",
    risks=("secret",),
    messages=(
        "",
        "No pushed value looks random.",
        "A value that this client pushes looks random: if it is a secret, take it out and replace it.",
    ),
)
def random_looking_value(push: Push, setting: RecordedSetting) -> bool:
    """SK004: a client pushed a value that looks random, and may be a secret.

    What
        A value has a run of 23 to 128 letters and digits in which capitals, small letters and digits change as often as in random
        text.  Ids and digests that are known by length, alphabet or key aren't taken.  This is entropy alone, so it causes no alert.

    Why
        Passwords and tokens of generators look so, and so do some ids.

    Example
        ``client.id=billing-q7Rk2ZpX9vLm4TnB8sWc6YdH``

    Use instead
        A name that a person can read.  If it is a secret: another one, and not in this setting.

    Source
        Entropy as a sign of secrets, and how often it is wrong: https://github.com/Yelp/detect-secrets
        How it is measured here: docs/leaks.md
    """
    # Settings that may hold a secret, by entropy alone.
    return tier_of(setting) is Tier.DOUBTFUL


@leak_rule(
    "SK005",
    severity="low",
    risks=("secret",),
    messages=(
        "",
        "Each pushed setting is one that a client library knows.",
        "This client pushes settings of its own application: take them out of config.push.allowed.keys.",
    ),
)
def custom_setting(push: Push, setting: RecordedSetting) -> bool:
    """SK005: a client pushed a setting that no client library knows.

    What
        A pushed key is no setting of Kafka's Java clients, Kafka Streams, Connect, librdkafka, kafka-python, aiokafka, KafkaJS, franz-go or
        Sarama, under any of its names.  Its value was redacted.  One that is a credential by its key or value is SK001 or SK002.

    Why
        KIP-1324 calls custom configuration sensitive: only its author knows what it holds, and cookies, addresses of mail, account
        numbers and tenants' hosts have no shape that could be looked for.

    Example
        ``app.support.contact=+49 30 1234567``

    Use instead
        ``config.push.allowed.keys`` without such keys.

    Source
        KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
        Which keys are known: docs/leaks.md
    """
    # Settings that are kept back since no client library knows their key; of pushes alone, as in `excluded`.
    return _is(setting, ValueState.CUSTOM) and _by_client(push)
