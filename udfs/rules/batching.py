"""Judging of the rules in batching.toml, about a producer's batches and buffers."""

from __future__ import annotations

from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, MEDIUM, Judgement, judged, judges, known, limit


@judges("AN109")
def linger_zero(push: PushedConfig) -> Judgement:
    # By the effective number, so by the release's default too.
    linger = push.number("linger.ms")
    return judged(linger <= 0, known(linger))


@judges("AN110")
def batch_size_small(push: PushedConfig) -> Judgement:
    size = push.number("batch.size")
    severity = HIGH if size < limit(push, "AN110", "critical_bytes") else MEDIUM
    return judged(size < limit(push, "AN110", "minimum_bytes"), known(size), severity)


@judges("AN111")
def batch_never_fills(push: PushedConfig) -> Judgement:
    # A library's own default isn't a wish for large batches.
    size, linger = push.number("batch.size"), push.number("linger.ms")
    wished = push.is_set("batch.size") and size > limit(push, "AN111", "large_bytes")
    return judged(wished and linger <= 0, known(size, linger))


@judges("AN113")
def buffer_memory_small(push: PushedConfig) -> Judgement:
    memory, size = push.number("buffer.memory"), push.number("batch.size")
    tight = size >= limit(push, "AN113", "large_batch_bytes") and memory < limit(push, "AN113", "minimum_bytes")
    return judged(memory < size or tight, known(memory, size), HIGH if memory < size else MEDIUM)
