"""Settings of the streaming job."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from clientscope.config.base import CheckpointDir, HistoryDir, KafkaSettings, Owners, RulesFile
from clientscope.config_types import Address


class StreamSettings(KafkaSettings):
    """Runs the Spark Structured Streaming job: decodes, judges and counts pushes, and keeps history."""

    section = "stream"
    master: str = Field("local[2]", description="Spark master; on a cluster, set it with spark-submit instead")
    driver_memory: str = Field("2g", description="heap of the Spark driver")
    checkpoint_dir: CheckpointDir
    history_dir: HistoryDir
    history_interval_seconds: float = Field(60.0, ge=0, description="interval at which history and quarantine are written")
    client_telemetry: bool = Field(
        False, description="record facts of clients' own metrics, where gateways have --client-telemetry (docs/telemetry.md)"
    )
    quality: Literal["on", "off"] = Field("on", description="validate samples of history with Great Expectations (docs/quality.md)")
    keep_clients_days: float = Field(
        30.0, gt=0, description="days after which the configuration of a client that is gone is removed from clientscope.configs"
    )
    max_clients: int = Field(
        200_000, ge=1, description="clients that findings know at a time, each with some 3 KB of memory; five times as many connections"
    )
    on_lost_records: Literal["skip", "stop"] = Field(
        "skip", description="skip: continue without records that Kafka no longer has, count and report them; stop: end the job"
    )
    digest_key_file: Path | None = Field(
        None, description="keys of the HMAC digests, the same as the gateways'; without it, no digests are made"
    )
    rules_file: RulesFile
    owners: Owners
    metrics_listen: Address = Field("127.0.0.1:9466", description="address of /metrics, /healthz and /readyz; port 0 turns them off")
    ui_port: int = Field(0, ge=0, le=65535, description="port of Spark's own web UI; 0 turns it off")
