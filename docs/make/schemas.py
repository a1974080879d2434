"""Writes the JSON Schema of each topic's values, into the package, and docs/asyncapi.json, which has them all.

``python docs/make/schemas.py``; a test compares.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from clientscope import __version__
from clientscope.model import topics
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.decision import Decision
from clientscope.model.finding import Finding
from clientscope.model.gauge import GatewayGauge, Gauge
from clientscope.model.input import InputRecord
from clientscope.model.push import Push
from clientscope.model.quarantine import QuarantineRecord
from clientscope.model.result import PushResult
from clientscope.model.status import BrokerStatus, ProcessStatus
from streaming.checkpoints.job_records import ClientsSeen, JobOwner, QueryProgress, QueryStart, SkippedRecord, VerdictsBegin

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "clientscope" / "model" / "schemas"
ASYNCAPI = ROOT / "docs" / "asyncapi.json"

VALUES: Mapping[str, Any] = {
    topics.CONFIGS: Push,
    topics.CONNECTIONS: ClientConnectionRecord,
    topics.RESULTS: PushResult,
    topics.INPUTS: InputRecord,
    topics.FINDINGS: Finding,
    topics.DECISIONS: Decision,
    topics.GAUGES: Gauge | GatewayGauge,
    topics.STATUS: ProcessStatus | BrokerStatus,
    topics.QUARANTINE: QuarantineRecord,
    topics.JOB: JobOwner | QueryStart | QueryProgress | VerdictsBegin | SkippedRecord | ClientsSeen,
}
"""By topic what its values are. Those of clientscope.telemetry are OTLP's MetricsData, as OpenTelemetry defines it."""

_KEYS = {
    topics.CONFIGS: "the client's instance id and a digest of whose it is; or gateway, epoch and connection",
    topics.CONNECTIONS: "the gateway's id",
    topics.RESULTS: "the same of the client that is judged",
    topics.INPUTS: "topic and partition of its source, with a slash between them",
    topics.FINDINGS: "the finding's fingerprint",
    topics.DECISIONS: "the finding's fingerprint",
    topics.GAUGES: "a JSON list: cluster, broker, gateway, and of a series listener, software name and version",
    topics.STATUS: "a JSON list: kind and id",
    topics.QUARANTINE: "a JSON list: topic, partition and offset",
    topics.JOB: "a JSON list: what the record is of",
}


def schema(topic: str) -> dict[str, Any]:
    """JSON Schema of a topic's values."""
    made = TypeAdapter(VALUES[topic]).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{topic}.json", **_described(made)}


def _described(part: Any) -> Any:
    """A schema whose fields have the texts that its classes' docstrings have under "Attributes", and no titles."""
    if not isinstance(part, dict):
        return [_described(each) for each in part] if isinstance(part, list) else part
    made = {key: _described(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    if "properties" in made and isinstance(made.get("description"), str):
        about, _, attributes = made["description"].replace("``", "`").partition("\n\nAttributes:\n")
        made["description"] = " ".join(about.split())
        for names, text in re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE):
            for name in names.split(", "):
                if name in made["properties"]:
                    made["properties"][name] = {"description": " ".join(text.replace("None", "null").split()), **made["properties"][name]}
    return made


def asyncapi() -> dict[str, Any]:
    """The document: a channel for each topic, with what lies on it."""
    channels, operations, messages = {}, {}, {}
    for topic in VALUES:
        name = topic.removeprefix("clientscope.")
        about = inspect.cleandoc(VALUES[topic].__doc__ or "").split("\n")[0] if inspect.isclass(VALUES[topic]) else ""
        channels[name] = {"address": topic, "messages": {name: {"$ref": f"#/components/messages/{name}"}}}
        operations[f"read_{name}"] = {"action": "receive", "channel": {"$ref": f"#/channels/{name}"}}
        messages[name] = {
            "name": name,
            "summary": about or f"Values of {topic}.",
            "contentType": "application/json",
            "bindings": {"kafka": {"key": {"type": "string", "description": _KEYS[topic]}}},
            "payload": {
                "schemaFormat": "application/schema+json;version=draft-07",
                "schema": _moved(
                    {name: part for name, part in schema(topic).items() if name not in ("$schema", "$id")},
                    f"#/components/messages/{name}/payload/schema",
                ),
            },
        }
    info = {
        "title": "Topics of clientscope",
        "version": __version__,
        "description": "Every value is one JSON object with a version. Fields may be added without a new version; readers ignore those"
        " that they don't know. A null value is a tombstone.",
    }
    return {
        "asyncapi": "3.0.0",
        "info": info,
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages},
    }


def _moved(part: Any, place: str) -> Any:
    """A schema whose references are to its own definitions, at another place of a document."""
    if isinstance(part, dict):
        return {key: place + value[1:] if key == "$ref" else _moved(value, place) for key, value in part.items()}
    return [_moved(each, place) for each in part] if isinstance(part, list) else part


def texts() -> dict[Path, str]:
    """Every file, and what is in it."""
    files = {FOLDER / f"{topic}.json": schema(topic) for topic in VALUES} | {ASYNCAPI: asyncapi()}
    return {path: json.dumps(made, indent=1, ensure_ascii=False) + "\n" for path, made in files.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts().items():
        path.write_text(text)
