"""The base of all settings, and the fields that several commands take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic.fields import FieldInfo

from clientscope.config_types import Addresses, Folder, check_url

# Options of a setting on the command line, in the environment and in a file, where its name isn't enough.


@dataclass(frozen=True, kw_only=True)
class Option:
    """Metadata of a setting, in its type: ``limit: Annotated[int, Option(flag_only=True)]``.

    Attributes:
        section: the TOML table, if it is not the command's own.
        key: the TOML key, and the end of the environment variable, if they are not the field's name.
        flag: the flag without its dashes, if it is not the field's name.
        short: the letter of a second flag.
        metavar: the placeholder of its value in the help.
        flag_only: given on the command line alone, never by the environment or a file.
        positional: given by its place; never by the environment or a file either.
        several: takes more than one value: a positional in a row, a flag each time that it is given.
        secret: never given by a flag, since every user of the machine can read the arguments of a process.
    """

    section: str = ""
    key: str = ""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    flag_only: bool = False
    positional: bool = False
    several: bool = False
    secret: bool = False


_PLAIN = Option()


def option(field: FieldInfo) -> Option:
    """The `Option` of a field; an empty one by default."""
    return next((each for each in field.metadata if isinstance(each, Option)), _PLAIN)


SearchTerms = Annotated[tuple[str, ...], Option(positional=True, several=True, metavar="TERM")]

TextOrJson = Annotated[Literal["text", "json"], Field(default="text", description="format"), Option(short="o", flag_only=True)]


class Settings(BaseModel):
    """The settings of one command. ``section`` is its TOML table, and the middle of its environment variables.

    Attributes:
        subcommand: the words after ``section``, for a command below another word.
        reads_secret: a secret is on standard input; one that is given as an argument by mistake is not repeated in the error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # --help validates nothing
    section: ClassVar[str]
    subcommand: ClassVar[str] = ""
    reads_secret: ClassVar[bool] = False

    @classmethod
    def words(cls) -> list[str]:
        """What follows ``clientscope`` to call the command."""
        return [cls.section, *cls.subcommand.split()]


class PageSettings(Settings):
    """Settings of every command that asks ``clientscope serve``."""

    url: Annotated[str, BeforeValidator(check_url), Option(section="page", metavar="URL")] = Field(
        "http://127.0.0.1:8324", description="address of the page of clientscope serve"
    )
    token_file: Annotated[Path | None, Option(section="page")] = Field(
        None, description="file that holds a token of the page, if the page requires one"
    )


class ListingSettings(Settings):
    """Settings of every command that lists something (`clientscope.report.listing`); given with the command alone, never in a file."""

    output: Annotated[Literal["table", "wide", "json", "jsonl", "csv", "name"], Option(short="o", flag_only=True)] = Field(
        "table", description="format; wide has more columns, name prints the names that other commands take"
    )
    sort: Annotated[str, Option(metavar="FIELDS", flag_only=True)] = Field(
        "", description="fields of the JSON, or columns of -o csv, to sort by, separated by commas; -field sorts in descending order"
    )
    columns: Annotated[str, Option(metavar="COLUMNS", flag_only=True)] = Field(
        "", description="show these columns alone, separated by commas: those of -o csv, as in client_id,software_version"
    )
    limit: Annotated[int, Option(flag_only=True)] = Field(0, ge=0, description="list at most this many; 0 lists all")
    watch: Annotated[bool, Option(flag_only=True)] = Field(
        False, description="list again every two seconds, until Ctrl-C; in a pipe as JSON lines"
    )


class KafkaSettings(Settings):
    """Settings of every process that connects to Kafka; see `clientscope.kafka.access`."""

    bootstrap_servers: Annotated[Addresses, Option(section="kafka", key="bootstrap.servers")] = Field(
        "127.0.0.1:19092", description="listener INTERNAL of the cluster, for clientscope's own topics"
    )
    kafka_security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], Option(section="kafka", key="security.protocol")
    ] = Field("PLAINTEXT", description="security protocol of listener INTERNAL")
    kafka_sasl_mechanism: Annotated[
        Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], Option(section="kafka", key="sasl.mechanism")
    ] = Field("", description="SASL mechanism of this process")
    kafka_sasl_username: Annotated[str, Option(section="kafka", key="sasl.username")] = Field(
        "", description="SASL user name of this process"
    )
    kafka_sasl_password: Annotated[SecretStr, Option(section="kafka", key="sasl.password", secret=True)] = Field(
        SecretStr(""), description="SASL password of this process; from this variable, or a TOML file that only its owner can read"
    )
    kafka_sasl_password_file: Annotated[Path | None, Option(section="kafka", key="sasl.password.file")] = Field(
        None, description="file that holds the password in one line"
    )
    kafka_ssl_ca_location: Annotated[Path | None, Option(section="kafka", key="ssl.ca.location")] = Field(
        None, description="certificates in PEM that sign the brokers'; by default the system's"
    )
    kafka_ssl_certificate_location: Annotated[Path | None, Option(section="kafka", key="ssl.certificate.location")] = Field(
        None, description="certificate of this process, in PEM"
    )
    kafka_ssl_key_location: Annotated[Path | None, Option(section="kafka", key="ssl.key.location")] = Field(
        None, description="private key of this process, in PEM (PKCS #8), without a passphrase"
    )
    kafka_ssl_endpoint_identification_algorithm: Annotated[
        Literal["https", "none", ""], Option(section="kafka", key="ssl.endpoint.identification.algorithm")
    ] = Field("https", description="https: a broker's certificate must name its host; none: any name is accepted")


HistoryDir = Annotated[
    Folder,
    Field(default="data/history", description="directory of the streaming job's Delta tables, or an address like s3a://… or hdfs://…"),
    Option(section="stream", metavar="PATH"),
]
RulesFile = Annotated[
    Path | None,
    Field(default=None, description="profiles, their assignments, and suppressions (docs/lint.md); by default the profile apache for all"),
    Option(section="rules", key="file", flag="rules"),
]
Owners = Annotated[
    Path | None,
    Field(default=None, description="owners.toml: the team of each client (docs/lint.md)"),
    Option(section="rules", key="owners"),
]
