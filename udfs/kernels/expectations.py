"""Row checks of every decoded record: values of each field by the record's schema, and lengths of strings.

A row that breaks one of these is quarantined under the expectation's name, and isn't written to history.  What is expected of records
together, or is no fault of a single one, is looked at in samples (``sinks.quality.suites``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.layouts import Kind, Origin, PrincipalSource
from udfs.kernels import facts
from udfs.kernels.facts import SECURITY_PROTOCOLS, Facts

LONGEST_NAME = 1_024
"""Bytes: what gateways record of a string that somebody chose has at most 256 characters."""


@dataclass(frozen=True)
class Expected:
    """What is expected of one fact.  A null is as expected.

    Attributes:
        name: in quarantine, metrics, findings and Data Docs; never used again for something else.
        fact: the fact's name.
        about: what it says, for a person.
        least, most: its bounds, both included; None where there is none.
        tolerated: the share of a sample's rows, 0 to 1, that may be otherwise without a word.
    """

    name: str
    fact: str
    about: str
    least: float | None = None
    most: float | None = None
    tolerated: float = 0.0

    def broken(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For each value whether it is otherwise; NaN, which is what numpy has for null, never is."""
        otherwise = np.zeros(len(values), np.bool_)
        if self.least is not None:
            otherwise |= values < self.least
        if self.most is not None:
            otherwise |= values > self.most
        return otherwise


def _length(fact: str, about: str, least: int = 0) -> Expected:
    name = fact.removesuffix("_length")
    return Expected(f"{name}_given" if least else f"{name}_bounded", fact, about, least, LONGEST_NAME)


_CLIENT = (
    _length("cluster_id_length", "names its cluster", 1),
    _length("gateway_id_length", "names its gateway", 1),
    Expected("broker_id_given", "broker_id", "names its broker", least=0),
    _length("listener_name_length", "its listener's name has at most 256 characters"),
    _length("client_address_length", "the client's address has at most 256 characters"),
    _length("principal_length", "the principal has at most 256 characters"),
    _length("client_id_length", "the client id has at most 256 characters"),
    _length("software_name_length", "the software's name has at most 256 characters"),
    _length("software_version_length", "the software's version has at most 256 characters"),
    Expected("security_protocol_known", "security_protocol", "its security protocol is one of Kafka's", 0, len(SECURITY_PROTOCOLS) - 1),
)

_COMMON = (
    *_CLIENT,
    Expected("gateway_epoch_given", "gateway_epoch", "says when its gateway started", least=1),
    Expected("principal_source_known", "principal_source", "where the principal is from is one of the schema's", 0, max(PrincipalSource)),
)

OF_PUSHES = (
    *_COMMON,
    Expected("connection_given", "connection_id", "names its connection", least=0),
    Expected("origin_known", "origin", "its origin is one of the schema's", 0, max(Origin)),
    Expected("keys_given", "empty_keys", "no setting is without a name", 0, 0),
    Expected("value_states_known", "unknown_value_states", "why a value isn't there is one of the schema's reasons", 0, 0),
    Expected("config_types_known", "unknown_config_types", "each setting's type is one of ConfigDef's", 0, 0),
    Expected("value_lengths_not_negative", "negative_value_lengths", "no value is shorter than nothing", 0, 0),
)
"""Expectations of a ClientConfigRecord; the first that a row breaks is its reason."""

OF_CONNECTIONS = (
    *_COMMON,
    Expected("kind_known", "kind", "its kind is one of the schema's", 0, max(Kind)),
    Expected("connection_fits_kind", "connection_fits_kind", "names its connection, or is a heartbeat and names none", 1, 1),
    Expected("sequence_not_negative", "sequence", "its sequence counts from 0", least=0),
    Expected("counts_not_negative", "negative_counts", "no count is below 0", 0, 0),
    Expected("heartbeat_part_fits", "heartbeat_part_fits", "a heartbeat's part is one of its parts", 1, 1),
    Expected("heartbeat_interval_not_negative", "heartbeat_interval_ms", "the next heartbeat isn't before this one", least=0),
    Expected("client_instances_not_negative", "client_instances", "no fewer client instances than none", least=0),
    Expected("opened_connections_told", "opened_connections", "connections opened are a number, or -1 if not reported", least=-1),
    Expected("closed_connections_told", "closed_connections", "connections closed are a number, or -1 if not reported", least=-1),
)
"""Expectations of a ClientConnectionRecord, likewise."""

OF_TELEMETRY = (
    Expected("metrics_readable", "metrics_readable", "its metrics are OTLP's, within bounds, and of a client that they name", 1, 1),
    *_CLIENT,
)
"""Expectations of a record of clients' own metrics, likewise."""


def judged_pushes(decoded: pa.StructArray) -> pa.StructArray:
    """The same records; ``decode_error`` has the name of the first of `OF_PUSHES` that a record breaks, which keeps its fields."""
    return _judged(decoded, facts.of_pushes(decoded), OF_PUSHES)


def judged_connections(decoded: pa.StructArray) -> pa.StructArray:
    """The same of ClientConnectionRecords, by `OF_CONNECTIONS`."""
    return _judged(decoded, facts.of_connections(decoded), OF_CONNECTIONS)


def judged_telemetry(decoded: pa.StructArray, readable: pa.Array) -> pa.StructArray:
    """The same of rows of `udfs.kernels.client_facts`, by `OF_TELEMETRY`.

    Args:
        readable: whether each record can be read, 1 or 0.
    """
    return _judged(decoded, facts.of_telemetry(decoded) | {"metrics_readable": readable}, OF_TELEMETRY)


def _judged(decoded: pa.StructArray, found: Facts, expected: tuple[Expected, ...]) -> pa.StructArray:
    broken = np.zeros(len(decoded), np.int8)
    for number in range(len(expected), 0, -1):
        each = expected[number - 1]
        broken[each.broken(found[each.fact].to_numpy(zero_copy_only=False))] = number
    if not broken.any():
        return decoded
    names = pa.array([None, *(each.name for each in expected)], pa.string())
    errors = pc.coalesce(decoded.field("decode_error"), names.take(pa.array(broken)))
    columns = {item.name: decoded.field(item.name) for item in decoded.type} | {"decode_error": errors}
    return pa.StructArray.from_arrays([*columns.values()], fields=[*decoded.type])
