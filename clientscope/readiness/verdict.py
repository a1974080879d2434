"""Whether a client that was seen works with brokers of a target release, and why: a pure function of what was seen.

What decides is the version numbers. A version that the target doesn't serve breaks the client if the client had a choice and took it, or
never asks for a choice:

- A client that sends ApiVersions (key 18) negotiates: of the versions that it and the broker know it takes the highest. If the broker that
  saw it offers a version that the target serves too, the client passed it over, so it doesn't know it: it breaks. If that broker offers
  none, the client may know a newer one: it can't be judged, unless its software's own range is known (Apache Kafka's Java clients from 2.4
  on report their version, and their versions of each API are those of the broker of that release).
- A client that neither sends ApiVersions nor has reported its software uses what it uses, whatever the broker is.

The broker's own flag ``requestApiVersionDeprecated`` isn't used: 3.7 to 3.9 also set it for JoinGroup 0 and 1, which 4.0.1 serves
(KAFKA-19494).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.releases import Range, api_name
from clientscope.catalog.settings import Release, numbers
from clientscope.readiness.observed import ApiUse, ObservedUses
from clientscope.readiness.served import added_in, nearest_release, removed_in, served, within

KIP_896 = "https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0"


@dataclass(frozen=True)
class LibraryMinimum:
    """A client library, and the version that works with brokers of 4.0 and later.

    Attributes:
        library: its usual name.
        software: the names that it reports in ApiVersions (KIP-511), in lower case; empty for one that reports none.
        version: the lowest version that the source names.
        note: what else to know; may be empty.
        source: where that is said.
        joins_with: the version of JoinGroup that earlier ones send, where that is all that breaks them.
        numbers_of: the leading numbers of a version as the software reports it.
    """

    library: str
    software: tuple[str, ...]
    version: str
    source: str
    note: str = ""
    numbers_of: Callable[[str], Release] = numbers
    joins_with: int | None = None

    def reached_by(self, software_version: str) -> bool | None:
        """Whether a version is this one or newer; None for a version without a number."""
        found = self.numbers_of(software_version)
        return found >= numbers(self.version) if found else None


MINIMUMS = (
    LibraryMinimum("Apache Kafka's Java clients", JAVA.software, "2.1.0", KIP_896, "before 2.4 it reports no software", JAVA.release_of),
    LibraryMinimum("librdkafka", ("librdkafka",), "1.8.2", KIP_896, "2.11.0 for SASL/GSSAPI with brokers of 4.0.0 (KAFKA-19444)"),
    LibraryMinimum("confluent-kafka-python", ("confluent-kafka-python",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("confluent-kafka-go", ("confluent-kafka-go",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("confluent-kafka-dotnet", ("confluent-kafka-dotnet",), "1.8.2", KIP_896, "its version is librdkafka's"),
    LibraryMinimum("KafkaJS", (), "1.15.0", KIP_896, "reports no software"),
    LibraryMinimum(
        "Sarama",
        ("sarama",),
        "1.41.0",
        "https://github.com/IBM/sarama/discussions/2617",
        "with a Config.Version of at least 2.1.0, its default; groups of 1.30.1, which KIP-896 names, don't work",
    ),
    LibraryMinimum("kafka-python", ("kafka-python",), "2.0.2", KIP_896, "an api_version of (0, 11) or earlier pins removed versions"),
    LibraryMinimum(
        "kafka-go", (), "0.4.48", "https://github.com/segmentio/kafka-go/pull/1379", "before it, groups fail at 4.0.0", joins_with=1
    ),
    LibraryMinimum(
        "brod",
        (),
        "4.4.2",
        "https://github.com/kafka4beam/brod/blob/master/CHANGELOG.md",
        "before it, groups fail at 4.0.0; reports no software",
        joins_with=1,
    ),
    LibraryMinimum(
        "kafka_ex",
        ("kafka_ex",),
        "1.0.0",
        "https://github.com/kafkaex/kafka_ex/issues/497",
        "before it, groups fail at 4.0.0; 1.0.1 to join groups over a slow network",
        joins_with=1,
    ),
)
"""From which version on each library is known to work with brokers of Kafka 4.0 and later, in the order in which documents list them.

A minimum is what a source says, not what decides: the verdict comes from the versions that a client was seen to use, and an older client
may work (docs/readiness.md has the ones that were tried). A library without a source isn't here.
"""


def minimum_of(software_name: str) -> LibraryMinimum | None:
    """The library that reports this software name; None for one that isn't listed."""
    return next((each for each in MINIMUMS if software_name.lower() in each.software), None)


JOIN_GROUP, API_VERSIONS = 11, 18
BETWEEN_BROKERS = frozenset({4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82})
"""APIs that only brokers and controllers use: LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, KRaft's, and the like."""
SAYS_LITTLE = frozenset({3, 10, 17, 18, 36, 60, 71, 72})
"""What nearly every client sends first: Metadata, FindCoordinator, SASL, ApiVersions, DescribeCluster, client metrics."""
OPTIONAL = frozenset({71, 72})
"""Client metrics (KIP-714): a client without them works as before."""
CORE = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14)
"""What producers and consumers need: all of these are judged if a client's software is all that is known."""


class Readiness(StrEnum):
    """What becomes of a client at the target, the worst first.

    - ``breaks``: at least one request that it sends is refused: the broker closes the connection, or the client refuses to work.
    - ``unknown``: what was seen doesn't decide it; the reasons say what is missing.
    - ``falls_back``: it works, by another way than it was seen to go: ApiVersions is answered with error 35 and asked again in an older
      version, an API is used in an older version than before, or client metrics are no longer collected.
    - ``fine``: the target serves every version that it was seen to use, or it negotiates and knows one that the target serves.
    """

    BREAKS = "breaks"
    UNKNOWN = "unknown"
    FALLS_BACK = "falls_back"
    FINE = "fine"


@dataclass(frozen=True)
class ReadinessReason:
    """One reason.

    Attributes:
        readiness: what it speaks for.
        text: in plain English.
        api_key: the API that it is about; None for the whole client.
        api_version: the version that was seen.
    """

    readiness: Readiness
    text: str
    api_key: int | None = None
    api_version: int | None = None


@dataclass(frozen=True)
class ReadinessVerdict:
    """A verdict.

    Attributes:
        target: the release.
        readiness: the worst of its reasons'.
        reasons: at least one, the worst first.
        advice: what to do; empty if there is nothing to do.
    """

    target: str
    readiness: Readiness
    reasons: tuple[ReadinessReason, ...]
    advice: str = ""


# A fleet has few different clients, and a verdict takes a tenth of a millisecond; one that has used all there is takes 70 KB here.
@lru_cache(maxsize=512)
def judge_readiness(client: ObservedUses, target: str) -> ReadinessVerdict:
    """What becomes of a client at brokers of a release.

    Args:
        target: a release of `known_releases`; `target_release` makes one of what somebody typed.

    Raises:
        KeyError: the target is no release of the data.
    """
    uses = [use for use in client.uses if use.api_key not in BETWEEN_BROKERS]
    # A long-lived connection may have sent ApiVersions before anybody watched; only in ApiVersions can it have reported its software.
    negotiates = client.names_itself or any(use.api_key == API_VERSIONS for use in uses)
    knows = _java_range(client)
    reasons = [_judge_use(use, target, client, negotiates, knows) for use in uses]
    reasons += _little_seen(client, uses, target, knows)
    order = list(Readiness)
    reasons.sort(key=lambda reason: (order.index(reason.readiness), reason.api_key or 0, reason.api_version or 0))
    readiness = reasons[0].readiness
    kept = [reason for reason in reasons if reason.readiness is not Readiness.FINE or readiness is Readiness.FINE]
    if readiness is Readiness.FINE:
        kept = _in_short(kept, target)
    return ReadinessVerdict(
        target=target,
        readiness=readiness,
        reasons=tuple(kept),
        advice=_advice(client, readiness, {(each.api_key, each.api_version) for each in kept if each.readiness is Readiness.BREAKS}),
    )


def last_old_ms(used: Mapping[ApiUse, int], target: str) -> int | None:
    """When a version that the target doesn't serve was last used, by when each was; None where none is old.

    Raises:
        KeyError: the target is no release of the data.
    """
    there = served(target)
    old = (ms for use, ms in used.items() if use.api_key not in BETWEEN_BROKERS and not within(use.api_version, there.get(use.api_key)))
    return max(old, default=None)


def _judge_use(use: ApiUse, target: str, client: ObservedUses, negotiates: bool, knows: Mapping[int, Range] | None) -> ReadinessReason:
    there = served(target).get(use.api_key)
    name = _name(use)

    def reason(readiness: Readiness, text: str) -> ReadinessReason:
        return ReadinessReason(readiness, text, use.api_key, use.api_version)

    if within(use.api_version, there):
        return reason(Readiness.FINE, f"{target} serves {name}.")
    if use.api_key == API_VERSIONS:
        return reason(
            Readiness.FALLS_BACK, f"{target} answers {name} with error 35, and the client asks again in an older version (KIP-511)."
        )
    why = _why(use, target)
    if there is None:
        if use.api_key in OPTIONAL:
            return reason(Readiness.FALLS_BACK, f"{why} Client metrics (KIP-714) are no longer collected.")
        return reason(Readiness.BREAKS, why)
    if knows is not None:
        own = knows.get(use.api_key)
        if not within(use.api_version, own):
            return reason(
                Readiness.UNKNOWN,
                f"{why} The software that this client reports doesn't know that version: several clients share its identity.",
            )
        if own is not None and max(own[0], there[0]) <= min(own[1], there[1]):
            readiness = Readiness.FALLS_BACK if use.api_version > there[1] else Readiness.FINE
            return reason(readiness, f"{why} The client negotiates, and also knows {_versions(own)}; {target} serves {_versions(there)}.")
        return reason(Readiness.BREAKS, f"{why} The client knows no other that {target} serves.")
    if not negotiates:
        unseen = "was never seen to send ApiVersions, so it uses this version with every broker"
        return reason(Readiness.BREAKS, f"{why} The client {'uses it with brokers that serve newer ones' if client.at_info else unseen}.")
    if use.api_version > there[1]:
        return reason(
            Readiness.UNKNOWN, f"{why} The client negotiates; whether it also knows {_versions(there)}, which {target} serves, isn't known."
        )
    readiness, more = _passed_over(use, there, client.broker_release)
    return reason(readiness, f"{why} {more}")


def _passed_over(use: ApiUse, there: Range, seen_on: str | None) -> tuple[Readiness, str]:
    """A client that negotiates, with a version older than the target's: whether it had the choice of a newer one."""
    broker = nearest_release(seen_on) if seen_on else None
    if broker is None:
        unknown = "The client negotiates, and the release of the broker that saw it isn't known: it may know a newer version."
        return Readiness.UNKNOWN, unknown
    offered = served(broker).get(use.api_key)
    if offered is not None and offered[1] >= there[0]:
        chose = f"The client negotiates, and chose it although the broker ({broker}) serves up to {offered[1]}"
        return Readiness.BREAKS, f"{chose}: it knows no newer version."
    newest = f"It is the newest that the broker ({broker}) serves"
    return Readiness.UNKNOWN, f"{newest}; whether the client knows a newer version isn't known."


def _little_seen(client: ObservedUses, uses: list[ApiUse], target: str, knows: Mapping[int, Range] | None) -> list[ReadinessReason]:
    """What else decides where a client was only seen to connect."""
    if any(use.api_key not in SAYS_LITTLE for use in uses):
        return []
    if knows is not None:
        there = served(target)
        missing = [key for key in CORE if max(knows[key][0], there[key][0]) > min(knows[key][1], there[key][1])]
        if missing:
            names = ", ".join(api_name(key) or str(key) for key in missing)
            return [ReadinessReason(Readiness.BREAKS, f"The client's software knows no version of {names} that {target} serves.")]
        software = f"{client.software_name} {client.software_version}"
        return [ReadinessReason(Readiness.FINE, f"{software} knows versions that {target} serves of all that producers and consumers use.")]
    seen = ", ".join(sorted({_api(use.api_key) for use in uses})) or "nothing"
    return [ReadinessReason(Readiness.UNKNOWN, f"Too little was seen: {seen}. What the client sends after it connects decides.")]


def _java_range(client: ObservedUses) -> Mapping[int, Range] | None:
    """The versions that a client of Apache Kafka's knows, by the software that it reports; None for others."""
    if client.software_name.lower() not in JAVA.software:
        return None
    numbers = JAVA.numbers_of(client.software_version)
    release = nearest_release(".".join(map(str, numbers[:3]))) if len(numbers) > 1 else None
    return None if release is None else served(release)


def _why(use: ApiUse, target: str) -> str:
    removal = removed_in(use.api_key, use.api_version, target)
    if removal is None:
        added = added_in(use.api_key, use.api_version)
        return f"{target} doesn't serve {_name(use)}" + (f", which came in {added}." if added else ": no known release does.")
    back = f", and is back in {removal.again}" if removal.again else ""
    return f"{target} doesn't serve {_name(use)}: it was removed in {removal.first}{back}."


def _in_short(reasons: Iterable[ReadinessReason], target: str) -> list[ReadinessReason]:
    """Of a client that is fine what isn't plain, and how much was judged."""
    there = served(target)
    plain: list[ReadinessReason] = []
    rest: list[ReadinessReason] = []
    for reason in reasons:
        as_before = reason.api_key is not None and within(reason.api_version or 0, there.get(reason.api_key))
        (plain if as_before else rest).append(reason)
    if plain and not rest:
        apis = len({reason.api_key for reason in plain})
        rest = [
            ReadinessReason(Readiness.FINE, f"{target} serves every version that it was seen to use, of {apis} API{'s' * (apis != 1)}.")
        ]
    return rest


def _advice(client: ObservedUses, readiness: Readiness, broken: Collection[tuple[int | None, int | None]]) -> str:
    if readiness is Readiness.UNKNOWN:
        return "Watch the client for longer, or look up its library's version."
    if readiness is not Readiness.BREAKS:
        return ""
    minimum = minimum_of(client.software_name)
    if minimum is None:
        known = [f"{each.library} from {each.version}" for each in MINIMUMS if broken == {(JOIN_GROUP, each.joins_with)}]
        newer = f" ({', '.join(known)} on send newer ones)" if known and not client.names_itself else ""
        return f"Upgrade its client library{newer}, and remove settings that pin an old protocol version."
    if minimum.reached_by(client.software_version):
        return f"Remove settings that pin an old protocol version: {minimum.library} {client.software_version} knows newer ones."
    note = f" ({minimum.note})" if minimum.note else ""
    return f"Upgrade {minimum.library} to {minimum.version} or later{note}."


def _api(api_key: int) -> str:
    return api_name(api_key) or f"API {api_key}"


def _name(use: ApiUse) -> str:
    return f"{_api(use.api_key)} {use.api_version}"


def _versions(versions: Range) -> str:
    return str(versions[0]) if versions[0] == versions[1] else f"{versions[0]}–{versions[1]}"
