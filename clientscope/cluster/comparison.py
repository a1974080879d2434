"""Differences between the API versions of a cluster's brokers: most often a rolling upgrade under way (KIP-35)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from clientscope.catalog.releases import Range
from clientscope.cluster.api_versions import AnswerState, BrokerAnswer


@dataclass(frozen=True)
class BrokerGroup:
    """Brokers that said the same about the APIs compared; a group has one at least."""

    answers: tuple[BrokerAnswer, ...]

    @property
    def ids(self) -> list[int]:
        """Their broker ids."""
        return [answer.broker.id for answer in self.answers]

    def range(self, key: int) -> Range | None:
        """What they all said about an API; None where they don't have it."""
        return self.answers[0].ranges.get(key)


@dataclass(frozen=True)
class Comparison:
    """Brokers' answers beside each other.

    Attributes:
        keys: the APIs compared, in order.
        groups: those that answered, by the lowest id in each.
        differing: those of the keys that not all of these said the same about.
        silent: brokers without an answer.
    """

    keys: tuple[int, ...]
    groups: tuple[BrokerGroup, ...]
    differing: frozenset[int]
    silent: tuple[BrokerAnswer, ...]


def compare(answers: Sequence[BrokerAnswer], chosen: Collection[int] | None = None) -> Comparison:
    """Puts answers beside each other.

    Args:
        chosen: the api keys to compare; None is each that any broker has.
    """
    answered = [answer for answer in answers if answer.state is AnswerState.ANSWERED]
    keys = tuple(sorted({key for answer in answered for key in answer.ranges} if chosen is None else set(chosen)))
    alike: dict[tuple[Range | None, ...], list[BrokerAnswer]] = {}
    for answer in answered:
        alike.setdefault(tuple(answer.ranges.get(key) for key in keys), []).append(answer)
    groups = tuple(BrokerGroup(tuple(members)) for members in alike.values())
    return Comparison(
        keys,
        groups,
        frozenset(key for key in keys if len({group.range(key) for group in groups}) > 1),
        tuple(answer for answer in answers if answer.state is not AnswerState.ANSWERED),
    )
