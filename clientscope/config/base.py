"""What all settings are made of, and fields that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from clientscope.config_types import BootstrapServers, check_url


class Settings(BaseModel):
    """What one command takes. ``section`` is its TOML table, and the middle of its environment variables.

    Attributes:
        subcommand: where a command is several: its own word after ``section``.
        error_status: the exit status for an error that a person can mend.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    section: ClassVar[str]
    subcommand: ClassVar[str] = ""
    error_status: ClassVar[int] = 1


class PageSettings(Settings):
    """What every command takes that asks ``clientscope serve``."""

    url: Annotated[str, BeforeValidator(check_url)] = Field(
        "http://127.0.0.1:8324",
        description="where the page of clientscope serve is",
        json_schema_extra={"section": "page", "metavar": "URL"},
    )
    token_file: Path | None = Field(
        None, description="a file that holds a token of the page, where it wants one", json_schema_extra={"section": "page"}
    )


class ListingSettings(Settings):
    """What every command takes that lists something (`clientscope.report.listing`); given with the command alone, never in a file."""

    output: Literal["table", "wide", "json", "jsonl", "csv", "name"] = Field(
        "table",
        description="how it is told; wide has more columns, name is what other commands call each by",
        json_schema_extra={"short": "o", "flag_only": True},
    )
    sort: str = Field(
        "",
        description="by these fields of the JSON, by commas; -field is downwards",
        json_schema_extra={"metavar": "FIELDS", "flag_only": True},
    )
    limit: int = Field(0, ge=0, description="list at most so many; 0 lists all", json_schema_extra={"flag_only": True})
    watch: bool = Field(
        False, description="show again every two seconds, until Ctrl-C; in a pipe as JSON lines", json_schema_extra={"flag_only": True}
    )


def kafka_key(key: str, **extra: Any) -> dict[str, Any]:
    """Where a field of ``[kafka]`` is found, and under which of Kafka's own names."""
    return {"section": "kafka", "key": key, **extra}


class KafkaSettings(Settings):
    """What every process that connects to Kafka takes; see `clientscope.kafka_access`."""

    bootstrap_servers: BootstrapServers
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="what listener INTERNAL speaks", json_schema_extra=kafka_key("security.protocol")
    )
    kafka_sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "", description="how this process authenticates", json_schema_extra=kafka_key("sasl.mechanism")
    )
    kafka_sasl_username: str = Field("", description="as whom", json_schema_extra=kafka_key("sasl.username"))
    kafka_sasl_password: SecretStr = Field(
        SecretStr(""),
        description="its password; from this variable, or a TOML file that others can't read",
        json_schema_extra=kafka_key("sasl.password", secret=True),
    )
    kafka_sasl_password_file: Path | None = Field(
        None, description="a file that holds the password, one line", json_schema_extra=kafka_key("sasl.password.file")
    )
    kafka_ssl_ca_location: Path | None = Field(
        None,
        description="certificates in PEM that sign the brokers'; default is the system's",
        json_schema_extra=kafka_key("ssl.ca.location"),
    )
    kafka_ssl_certificate_location: Path | None = Field(
        None, description="this process' own certificate, in PEM", json_schema_extra=kafka_key("ssl.certificate.location")
    )
    kafka_ssl_key_location: Path | None = Field(
        None, description="its private key in PEM (PKCS #8), without a passphrase", json_schema_extra=kafka_key("ssl.key.location")
    )
    kafka_ssl_endpoint_identification_algorithm: Literal["https", "none", ""] = Field(
        "https",
        description="https: a broker's certificate must name its host; none: any name will do",
        json_schema_extra=kafka_key("ssl.endpoint.identification.algorithm"),
    )


def rules_file(description: str) -> Any:
    """The field of a rules file, which lint and the job take from the same place."""
    return Field(None, description=description, json_schema_extra={"section": "rules", "key": "file", "flag": "rules"})


OWNERS: Path | None = Field(
    None, description="owners.toml: which team a client is of (docs/lint.md)", json_schema_extra={"section": "rules", "key": "owners"}
)


CHECKPOINT_DIR: Path = Field(
    Path("checkpoints"),
    description="where the queries' checkpoints are kept",
    json_schema_extra={"section": "stream"},
)
