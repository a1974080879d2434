"""The request log of Kafka 2.8 and later: a JSON object (KAFKA-10525; Kafka's ``RequestConvertToJson.requestDescMetrics``)."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

from clientscope.logs.requests import FIELDS, LoggedRequest, address_of, cut

_decode = JSONDecoder().raw_decode


def read(text: str, start: int, logged_at: str) -> LoggedRequest | None:
    """The request whose object begins at ``start``; None for what isn't one."""
    try:
        line, _ = _decode(text, start)
        header = line["requestHeader"]
        client = line.get("clientInformation") or {}
        connection = cut(line["connection"])
        api_key = int(header["requestApiKey"])
        return LoggedRequest(
            api_key,
            int(header["requestApiVersion"]),
            logged_at,
            cut(header.get("clientId") or ""),
            connection,
            address_of(connection),
            cut(line["principal"]),
            cut(line["listener"]),
            cut(line["securityProtocol"]),
            cut(client.get("softwareName") or ""),
            cut(client.get("softwareVersion") or ""),
            fields(api_key, line.get("request") or {}),
        )
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def fields(api_key: int, request: Mapping[str, Any]) -> Mapping[str, str]:
    """The allow-listed fields of a request's body, whose names are Kafka's in JSON."""
    names = FIELDS.get(api_key)
    if names is None or not request:  # it came before the level was raised
        return {}
    found = {}
    for name in names:
        if name == "protocols":
            value: Any = ",".join(protocol["name"] for protocol in request[name][:20])
        elif name == "partitionMaxBytes":
            value = next((each[name] for topic in request["topics"][:1] for each in topic["partitions"][:1]), None)
        elif name == "replicaId":  # from version 15 of Fetch on in a structure of its own (KIP-903)
            value = request.get(name, (request.get("replicaState") or {}).get(name))
        else:
            value = request.get(name)
        if value is not None:
            found[name] = str(value).lower() if isinstance(value, bool) else cut(value)
    return found
