"""What client libraries make of a producer's settings that bear on each other; each release's source is named in the dialect's file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Settle, settle_idempotence
from clientscope.catalog.settings import Release

Values = Mapping[str, str | None]
IN_FLIGHT = "max.in.flight.requests.per.connection"


def _of_producers(settled: Callable[[Values, Collection[str], Release], dict[str, str]]) -> Settle:
    return lambda client_type, values, given, software: settled(values, given, software) if client_type is ClientType.PRODUCER else {}


@_of_producers
def librdkafka(values: Values, given: Collection[str], software: Release) -> dict[str, str]:
    """Transactions need idempotence, and idempotence the rest."""
    settled = {}
    transactional = bool(values.get("transactional.id"))
    if transactional:
        settled["enable.idempotence"] = "true"
        if "delivery.timeout.ms" not in given and (timeout := values.get("transaction.timeout.ms")):
            settled["delivery.timeout.ms"] = timeout
    if transactional or values.get("enable.idempotence") == "true":
        needed = {IN_FLIGHT: "5", "retries": str(2**31 - 1), "acks": "all"}
        settled |= {key: value for key, value in needed.items() if key not in given}
    return settled


@_of_producers
def kafka_python(values: Values, given: Collection[str], software: Release) -> dict[str, str]:
    """Until 3.0 idempotence is off unless it is asked for, and then takes other defaults with it."""
    with_it = {}
    asked = "enable.idempotence" in given and values.get("enable.idempotence") == "true"
    if software and software < (3, 0, 0) and (asked or values.get("transactional.id")):
        with_it = {key: value for key, value in {"acks": "all", IN_FLIGHT: "1"}.items() if key not in given}
    return {**with_it, **settle_idempotence(ClientType.PRODUCER, {**values, **with_it}, given, software)}


@_of_producers
def aiokafka(values: Values, given: Collection[str], software: Release) -> dict[str, str]:
    """Transactions need idempotence, and idempotence all acknowledgements."""
    settled = {"enable.idempotence": "true"} if values.get("transactional.id") else {}
    if {**values, **settled}.get("enable.idempotence") == "true" and "acks" not in given:
        settled["acks"] = "all"
    return settled


@_of_producers
def franz_go(values: Values, given: Collection[str], software: Release) -> dict[str, str]:
    """Requests in flight are five a broker when idempotent, whatever is set, and else one unless set."""
    if values.get("enable.idempotence") != "false":
        return {IN_FLIGHT: "5"}
    return {} if IN_FLIGHT in given else {IN_FLIGHT: "1"}
