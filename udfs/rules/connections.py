"""Judging of the rules in connections.toml, about any client's connections: metadata, idle time, backoff and buffers."""

from __future__ import annotations

import re

from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, INFO, LOW, MEDIUM, Judgement, judged, judges, known, limit


@judges("AN302")
def idle_connections_kept(push: PushedConfig) -> Judgement:
    # Never is 0 in librdkafka, and negative in Java.
    idle = push.number("connections.max.idle.ms")
    never = idle < 0 or (idle == 0 and push.software.is_of("librdkafka"))
    kept = never or idle >= limit(push, "AN302", "maximum_ms")
    return judged(kept, known(idle), INFO if push.is_default("connections.max.idle.ms") else MEDIUM)


@judges("AN303")
def reconnect_backoff_flat(push: PushedConfig) -> Judgement:
    # What Java makes of a first value alone, it makes before it pushes; in a file it is seen here.
    first, most = push.number("reconnect.backoff.ms"), push.number("reconnect.backoff.max.ms")
    alone = push.software.is_of("java") and push.is_set("reconnect.backoff.ms") and push.is_default("reconnect.backoff.max.ms")
    flat = first >= most or (alone and push.complete)
    return judged(flat and first < limit(push, "AN303", "minimum_ms"), known(first, most))


@judges("AN304")
def retry_backoff_unfit(push: PushedConfig) -> Judgement:
    # A library without a maximum, or one that wasn't pushed, leaves the first half.
    first, most = push.number("retry.backoff.ms"), push.number("retry.backoff.max.ms")
    fast = first < limit(push, "AN304", "minimum_ms")
    return judged(fast or first > most, known(first), MEDIUM if fast else LOW)


@judges("AN305")
def socket_buffer_small(push: PushedConfig) -> Judgement:
    # Java's own defaults are small too; only what was set counts.
    least = limit(push, "AN305", "minimum_bytes")
    buffers = "send.buffer.bytes", "receive.buffer.bytes"
    fired = any(push.is_set(key) and 0 < push.number(key) < least for key in buffers)
    return judged(fired, any(known(push.number(key)) or push.is_absent(key) for key in buffers))


@judges("AN312")
def certificate_unchecked(push: PushedConfig) -> Judgement:
    name = push.text("ssl.endpoint.identification.algorithm")
    off = [each for each in push.settings if _turns_off(each.key, each.value or "")]
    if name is not None and name.strip().lower() in ("", "none"):
        off += push.evidence(("ssl.endpoint.identification.algorithm",))
    plain = (push.text("security.protocol") or "").upper() in ("PLAINTEXT", "SASL_PLAINTEXT")
    return judged(bool(off) and not plain, bool(off) or name is not None, settings=off or None)


def _turns_off(key: str, value: str) -> bool:
    text = value.strip().lower()
    return text in ("false", "true") and _OFF.fullmatch(f"{key}={text}") is not None


_OFF = re.compile(r"(?:enable\.ssl\.certificate\.verification|ssl_check_hostname)=false|(?:.*\.)?insecure_?skip_?verify=true", re.I)


@judges("AN313")
def credentials_in_clear(push: PushedConfig) -> Judgement:
    protocol, mechanism = push.text("security.protocol"), push.text("sasl.mechanism")
    fired = (protocol or "").upper() == "SASL_PLAINTEXT" and (mechanism or "").upper().startswith(("PLAIN", "OAUTHBEARER", "SCRAM-"))
    return judged(fired, protocol is not None, MEDIUM if (mechanism or "").upper().startswith("SCRAM-") else HIGH)
