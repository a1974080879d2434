"""AN309: request versions that a later release of brokers doesn't serve.

What
    A connected client requests versions of the protocol that the release ``target_major``.``target_minor`` removed, and would do so
    there: it never sends ApiVersions, or chooses an old version although newer ones are offered. It is over seven hours after the last
    record with such a version. A target that isn't known fires nothing.

Why
    Kafka 4.0 removed old versions (KIP-896). A broker closes the connection of a client that requests one, whatever its configuration,
    so the client stops working with the upgrade of the brokers.

Example
    a consumer with ``api_version=(0, 10)`` that sends Fetch 3, at brokers of 3.9

Use instead
    A release of the client library that knows newer versions, without settings that pin an old one.

Source
    KIP-896: https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN309",
    name="versions_removed_later",
    severity="medium",
    risks=("stall",),
    messages=(
        "A push says nothing of requests.",
        "The later release serves all versions that the client requests.",
        "This application requests versions that a later release of brokers doesn't serve, and stops working there: "
        "upgrade its client library, and remove settings that pin an old protocol version.",
    ),
    needs=Needs.WIRE,
    limits={"target_major": 4, "target_minor": 0},
    cases=(Case(NOT_EVALUABLE, {"acks": "all"}),),
)
