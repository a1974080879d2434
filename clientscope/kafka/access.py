"""Access to Kafka: settings for kafka-python and for Java, addresses, and connections.

Names in the table are Kafka's own where Java and librdkafka agree, else librdkafka's, whose files are the common ones: PEM, one each.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kafka.cluster import collect_hosts
from kafka.errors import KafkaConnectionError
from kafka.net.compat import KafkaNetClient

from clientscope.config import KafkaSettings
from clientscope.errors import SettingsError
from clientscope.secret_files import require_private

# What of kafka-python 3.0.12 is worked around:
#
# - Where no broker answers, the constructors of consumer, admin client and producer raise, and leave a thread and four descriptors
# behind: a process that retries for a day runs out of both. All three make their connections by ``kafka_client``
# (consumer/group.py:418, admin/client.py, producer/kafka.py:524), and none closes it then. To be removed once they do. - Where all
# brokers refuse connections, it tries again until ``bootstrap_timeout_ms`` is over (net/manager.py, ``_do_bootstrap``), half a minute
# by default: `require_listener` looks first. To be removed once a refusal everywhere is an error.
C = TypeVar("C")

_CONNECT_S = 1.0
"""How long a server has to refuse."""


def bootstrapped(cls: Callable[..., C], **arguments: Any) -> C:
    """A client of this class.

    Raises:
        KafkaError, OSError, ValueError: no broker answers, or an argument is wrong; nothing is left open. At once where nobody listens.
    """
    require_listener(arguments["bootstrap_servers"])
    made: list[KafkaNetClient] = []

    def connections(**config: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**config))
        return made[-1]

    try:
        return cls(**arguments, kafka_client=connections)
    except BaseException:
        for each in made:
            each.close()
        raise


def require_listener(bootstrap_servers: str | Sequence[str]) -> None:
    """Returns at the first server that takes a connection; also at one that is silent, which is left to kafka-python and its timeout.

    Raises:
        KafkaConnectionError: each server refuses connections, or its name has no address.
    """
    reasons = []
    for host, port, _ in collect_hosts(bootstrap_servers, randomize=False):
        try:
            socket.create_connection((host, port), _CONNECT_S).close()
        except ConnectionRefusedError:
            reasons.append(f"{host}:{port} refuses connections")
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:  # the name server may answer later
                return
            reasons.append(f"{host} has no address")
        except OSError:
            return
        else:
            return
    raise KafkaConnectionError("; ".join(reasons))


JAAS_VARIABLE = "KAFKA_SASL_JAAS_CONFIG"
"""Environment variable of the JVMs from which Kafka's own EnvVarConfigProvider (KIP-887) takes the line with the password."""


@dataclass(frozen=True)
class KafkaAccess:
    """Where Kafka is, and how to be let in.

    Attributes:
        password: in plain text, and never shown.
        check_hostname: whether a broker's certificate must name the host that was connected to.
    """

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    check_hostname: bool = True

    @classmethod
    def of(cls, settings: KafkaSettings) -> KafkaAccess:
        """From ``[kafka]``.

        Raises:
            SettingsError: what doesn't go together, or a file with a secret that is missing or that every user can read.
        """
        protocol = settings.kafka_security_protocol
        sasl, tls = protocol.startswith("SASL_"), protocol.endswith("SSL")
        user = settings.kafka_sasl_username
        _require(sasl or not (user or settings.kafka_sasl_mechanism), "sasl.username and sasl.mechanism", "SASL_SSL or SASL_PLAINTEXT")
        files = (settings.kafka_ssl_ca_location, settings.kafka_ssl_certificate_location, settings.kafka_ssl_key_location)
        _require(tls or not any(files), "ssl.ca.location, ssl.certificate.location and ssl.key.location", "SSL or SASL_SSL")
        if sasl and not (settings.kafka_sasl_mechanism and user):
            raise SettingsError(f"[kafka] security.protocol {protocol} needs sasl.mechanism and sasl.username", "set both")
        if (files[1] is None) != (files[2] is None):
            raise SettingsError("[kafka] ssl.certificate.location and ssl.key.location go together", "set both, or neither")
        for path in files[:2]:
            if path is not None and not path.is_file():
                raise SettingsError(f"[kafka] {path}: no such file")
        if files[2] is not None:
            require_private(files[2], "[kafka] ssl.key.location")
        return cls(
            bootstrap_servers=settings.bootstrap_servers,
            security_protocol=protocol,
            mechanism=settings.kafka_sasl_mechanism,
            username=user,
            password=_password(settings) if sasl else "",
            ca=files[0],
            certificate=files[1],
            key=files[2],
            check_hostname=settings.kafka_ssl_endpoint_identification_algorithm == "https",
        )

    @property
    def principal(self) -> str:
        """The principal that the broker's ACLs must name, if it is known here."""
        return f"User:{self.username}" if self.username else "this principal"

    def client_arguments(self) -> dict[str, Any]:
        """For kafka-python's clients."""
        arguments: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers, "security_protocol": self.security_protocol}
        if self.mechanism:
            arguments |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }
        if self.security_protocol.endswith("SSL"):
            arguments |= {"ssl_check_hostname": self.check_hostname}
            arguments |= {"ssl_cafile": str(self.ca)} if self.ca else {}
            arguments |= {"ssl_certfile": str(self.certificate), "ssl_keyfile": str(self.key)} if self.certificate else {}
        return arguments

    def java_options(self) -> dict[str, str]:
        """For Kafka's Java clients within Spark.  Holds no secret: where one belongs, it names where the JVM finds it."""
        options = {"bootstrap.servers": self.bootstrap_servers}
        if self.security_protocol == "PLAINTEXT":
            return options
        options["security.protocol"] = self.security_protocol
        providers = {}
        if self.mechanism:
            providers["env"] = "EnvVarConfigProvider"
            options |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": f"${{env:{JAAS_VARIABLE}}}"}
        if self.security_protocol.endswith("SSL"):
            options["ssl.endpoint.identification.algorithm"] = "https" if self.check_hostname else ""
            if self.ca:
                options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca.absolute())}
            if self.certificate and self.key:
                providers["directory"] = "DirectoryConfigProvider"
                options |= {
                    "ssl.keystore.type": "PEM",
                    "ssl.keystore.certificate.chain": _content(self.certificate),
                    "ssl.keystore.key": _content(self.key),
                }
        if providers:
            options["config.providers"] = ",".join(providers)
            for name, provider in providers.items():
                options[f"config.providers.{name}.class"] = f"org.apache.kafka.common.config.provider.{provider}"
        return options

    def java_environment(self) -> dict[str, str]:
        """What each JVM with a Kafka client needs in its environment, secrets among it."""
        if not self.mechanism:
            return {}
        kind = "plain.Plain" if self.mechanism == "PLAIN" else "scram.Scram"
        login = f"org.apache.kafka.common.security.{kind}LoginModule required"
        return {JAAS_VARIABLE: f"{login} username={_quoted(self.username)} password={_quoted(self.password)};"}


Kafka = KafkaAccess | str
"""Where there is nothing to say but the addresses, they alone will do."""


def access(kafka: Kafka) -> KafkaAccess:
    """Either of the two as the first."""
    return KafkaAccess(kafka) if isinstance(kafka, str) else kafka


def _require(holds: bool, keys: str, protocols: str) -> None:
    if not holds:
        raise SettingsError(f"[kafka] {keys} have no effect with this security.protocol", f"set security.protocol to {protocols}")


def _password(settings: KafkaSettings) -> str:
    given, path = settings.kafka_sasl_password.get_secret_value(), settings.kafka_sasl_password_file
    if bool(given) == bool(path):
        both = "there twice" if given else "missing"
        raise SettingsError(
            f"[kafka] the SASL password is {both}", "either CLIENTSCOPE_KAFKA_SASL_PASSWORD, or sasl.password.file, a file that holds it"
        )
    if path is None:
        return given
    require_private(path, "[kafka] sasl.password.file")
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        raise SettingsError(f"[kafka] sasl.password.file {path}: it isn't UTF-8") from None
    if len(lines) != 1 or not lines[0]:
        raise SettingsError(f"[kafka] sasl.password.file {path}: it has {len(lines)} lines", "it must hold the password and nothing else")
    return lines[0]


def _content(path: Path) -> str:
    path = path.absolute()
    return f"${{directory:{path.parent}:{path.name}}}"


def _quoted(value: str) -> str:
    """A quoted string in the syntax of java.io.StreamTokenizer, which reads JAAS."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
