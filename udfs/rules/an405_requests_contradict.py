"""AN405: a client's requests show another value than it says.

What
    What a gateway has seen of a connected client's requests differs from what the client pushes. Numbers, truth values and
    choices are compared, as far as requests show them exactly. Where connections of one name show several values, nothing is compared.

Why
    The client isn't set as its owner thinks: a library ignores the setting, another instance has its name, or what was pushed was
    read from another place than what is used.

Example
    ``acks=all`` pushed, and Produce requests with acks 1

Use instead
    Find out which of the two is used; the requests are what the broker gets. Give each instance a client.id of its own.

Source
    Apache Kafka, protocol: https://kafka.apache.org/protocol
    KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN405",
    name="requests_contradict",
    severity="medium",
    risks=("drift",),
    messages=(
        "One push says nothing of requests.",
        "Requests show what the client says.",
        "Requests show other values than the client says: find out which are used, and correct the other.",
    ),
    needs=Needs.FLEET,
    cases=(Case(NOT_EVALUABLE, {"acks": "all"}),),
)
