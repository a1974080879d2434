"""How clients of each dialect reach Kafka, as kafka-python's arguments; no secret is ever said."""

from __future__ import annotations

import asyncio
import base64
import http.server
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka.net.manager import KafkaConnectionManager

from clientscope.client.connection_settings import connection_settings, jaas
from clientscope.client.connection_settings.tokens import client_credentials
from clientscope.errors import ClientscopeError, EnvironmentProblem

SECRET = "canary-secret-9e1c"
MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="alice" password="{SECRET}";'


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1 that signs itself, its key, and the key under a password."""
    home = tmp_path_factory.mktemp("pem")

    def openssl(*arguments: str) -> None:
        subprocess.run(["/usr/bin/openssl", *arguments], check=True, capture_output=True, cwd=home)

    openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", "plain.key", "-out", "own.crt",
    )  # fmt: skip
    openssl("pkcs8", "-topk8", "-in", "plain.key", "-passout", f"pass:{SECRET}", "-out", "locked.key")
    both = (home / "plain.key").read_text() + (home / "own.crt").read_text()
    (home / "both.pem").write_text(both)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=leaf", "-keyout", "leaf.key", "-out", "leaf.csr")
    (home / "leaf.ext").write_text("subjectAltName=IP:127.0.0.1")
    openssl(
        "x509", "-req", "-in", "leaf.csr", "-CA", "own.crt", "-CAkey", "plain.key", "-CAcreateserial", "-days", "2", "-extfile", "leaf.ext",
        "-out", "leaf.crt",
    )  # fmt: skip
    (home / "leaf.pem").write_text((home / "leaf.key").read_text() + (home / "leaf.crt").read_text())
    (home / "trust.jks").write_bytes(b"\xfe\xed\xfe\xed")
    return home


def on_one_line(path: Path) -> str:
    return " ".join(path.read_text().split("\n"))


def refusal(dialect: str, settings: Mapping[str, Any]) -> ClientscopeError:
    with pytest.raises(ClientscopeError) as raised:
        connection_settings(dialect, settings)
    assert SECRET not in f"{raised.value} {raised.value.hint}"
    assert raised.value.__suppress_context__ or raised.value.__context__ is None, "nor in a traceback"
    return raised.value


# What Kafka 4.4.0's own JaasContext.loadClientContext makes of these, which has been compared on some 20,000 lines.
JAAS_OPTIONS = [
    ('M required username="alice" password="s e;c=r/e//t";', {"username": "alice", "password": "s e;c=r/e//t"}),
    ("M required username='alice' password='it\\'s \"so\"';", {"username": "alice", "password": 'it\'s "so"'}),
    ('M required password="a\\"b\\\\c\\n\\101\\477\\x";', {"password": "a\"b\\c\nA'7x"}),
    ('M REQUIRED a="ünï€";', {"a": "ünï€"}),
    ("M required user=bob-1.x serviceName=$kafka_1;", {"user": "bob-1.x", "serviceName": "$kafka_1"}),
    ('M required // who\n a="b" /* and */ c="d";', {"a": "b", "c": "d"}),
    ('M required a="b" a="c";', {"a": "c"}),
    ('M required "a"="";', {"a": ""}),
    ("M required;", {}),
]


@pytest.mark.parametrize(("line", "options"), JAAS_OPTIONS)
def test_jaas_is_read_as_java_reads_it(line: str, options: dict[str, str]) -> None:
    assert jaas.parse(line) == jaas.Jaas("M", options)


@pytest.mark.parametrize(
    "line",
    [
        "", "M", "M required", 'M bogus a="b";', 'M required a="b"', "M required a=5;", "M required a=-5;", "M required a=-;",
        "M required a;",
        "M required a=;", "M required a=b/c;", 'M required a="b"; N required;', 'M required a="b\n";',
    ],
)  # fmt: skip
def test_jaas_that_java_refuses(line: str) -> None:
    with pytest.raises(ClientscopeError, match=r"sasl\.jaas\.config"):
        jaas.parse(line)


def test_jaas_never_shows_its_options() -> None:
    assert SECRET not in repr(jaas.parse(PLAIN))
    refusal("java", {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN[:-1]})


def test_java_without_security() -> None:
    settings = {"bootstrap.servers": "PLAINTEXT://a:1, b:2", "client.id": "billing", "retry.backoff.ms": "250", "acks": "all"}
    assert connection_settings("java", settings) == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "billing",
        "security_protocol": "PLAINTEXT",
        "retry_backoff_ms": 250,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_in_every_dialect(mechanism: str) -> None:
    java = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.jaas.config": PLAIN}
    librdkafka = {"security.protocol": "sasl_plaintext", "sasl.mechanisms": mechanism, "sasl.username": "alice", "sasl.password": SECRET}
    python = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    python |= {"sasl_plain_username": "alice", "sasl_plain_password": SECRET}
    wanted = python.items()
    assert wanted <= connection_settings("java", java).items()
    assert wanted <= connection_settings("librdkafka", librdkafka).items()
    assert wanted <= connection_settings("aiokafka", python).items()
    assert wanted <= connection_settings("kafka-python", python).items()


def test_client_ids_where_the_user_set_none() -> None:
    ids = {dialect: connection_settings(dialect, {}).get("client_id") for dialect in ("java", "librdkafka", "aiokafka", "kafka-python")}
    assert ids == {"java": "", "librdkafka": "rdkafka", "aiokafka": "aiokafka", "kafka-python": None}


def test_kafka_python_as_it_is() -> None:
    context = ssl.create_default_context()
    settings = {"bootstrap_servers": ["a:1"], "ssl_context": context, "acks": 1, "metrics": object(), "retry_backoff_ms": 5}
    assert connection_settings("kafka-python", settings) == {"bootstrap_servers": ["a:1"], "ssl_context": context, "retry_backoff_ms": 5}


def test_all_arguments_are_kafka_pythons(pem: Path) -> None:
    java = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
    librdkafka = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    for made in (connection_settings("java", java), connection_settings("librdkafka", {**librdkafka, "sasl.password": SECRET})):
        assert set(made) <= set(KafkaConnectionManager.DEFAULT_CONFIG)


SASL = {"security.protocol": "SASL_PLAINTEXT"}
REFUSED = [
    ("sarama", {}, "sarama"),
    ("java", {"security.protocol": "TLS"}, "security.protocol"),
    ("java", {"retry.backoff.ms": "soon"}, "retry.backoff.ms"),
    ("java", SASL, "GSSAPI"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN"}, "sasl.jaas.config"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": "M required;"}, "no username and no password"),
    ("java", {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": "${env:JAAS}"}, "config provider"),
    (
        "java",
        {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN, "sasl.client.callback.handler.class": "com.acme.H"},
        "callback",
    ),
    ("java", {**SASL, "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": PLAIN[:-1] + ' tokenauth="true";'}, "delegation token"),
    ("java", {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "M required;"}, "sasl.oauthbearer.token.endpoint.url"),
    (
        "java",
        {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "M required;", "sasl.login.callback.handler.class": "com.acme.H"},
        "sasl.login.callback.handler.class",
    ),
    ("java", {"security.protocol": "SSL", "ssl.engine.factory.class": "com.acme.Ssl"}, "ssl.engine.factory.class"),
    ("java", {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/nowhere"}, "ssl.truststore.location"),
    ("java", {"security.protocol": "SSL", "ssl.truststore.certificates": "none"}, "ssl.truststore.certificates"),
    ("java", {"security.protocol": "SSL", "ssl.keystore.key": SECRET}, "ssl.keystore.certificate.chain"),
    ("librdkafka", SASL, "GSSAPI"),
    ("librdkafka", {**SASL, "sasl.mechanism": "PLAIN", "sasl.username": "u"}, "sasl.password"),
    ("librdkafka", {**SASL, "sasl.mechanism": "OAUTHBEARER"}, "oauth_cb"),
    ("librdkafka", {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}, "sasl.oauthbearer.token.endpoint.url"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.keystore.location": "k.p12"}, "openssl pkcs12 -in k.p12"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.engine.location": "e.so"}, "ssl.engine.location"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.key.pem": SECRET}, "go together"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.ca.location": "/nowhere"}, "ssl.ca.location"),
    ("librdkafka", {"security.protocol": "SSL", "ssl.cipher.suites": "NONSENSE"}, "ssl.cipher.suites"),
    ("librdkafka", {"security.protocol": "SSL", "enable.ssl.certificate.verification": "maybe"}, "enable.ssl.certificate.verification"),
    ("aiokafka", {"security_protocol": "SSL"}, "ssl_context"),
    ("aiokafka", {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"}, "GSSAPI"),
    ("aiokafka", {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}, "sasl_oauth_token_provider"),
]


@pytest.mark.parametrize(("dialect", "settings", "named"), REFUSED)
def test_what_cannot_be_taken_over_is_named(dialect: str, settings: dict[str, Any], named: str) -> None:
    error = refusal(dialect, settings)
    assert named in f"{error} {error.hint}"


def test_a_java_store_is_refused_with_the_command_that_converts_it(pem: Path) -> None:
    jks = str(pem / "trust.jks")
    trust = refusal("java", {"security.protocol": "SSL", "ssl.truststore.location": jks, "ssl.truststore.password": SECRET})
    assert f"keytool -exportcert -rfc -keystore {jks}" in str(trust.hint)
    own = {"security.protocol": "SSL", "ssl.keystore.location": jks, "ssl.key.password": SECRET}
    assert f"keytool -importkeystore -srckeystore {jks}" in str(refusal("java", own).hint)
    assert str(refusal("java", {**own, "ssl.keystore.type": "PKCS12"}).hint).startswith(f"convert it by `openssl pkcs12 -in {jks}")


def java_files(pem: Path) -> dict[str, Any]:
    return {
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(pem / "own.crt"),
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem / "both.pem"),
    }  # fmt: skip


def java_inline(pem: Path) -> dict[str, Any]:
    return {
        "ssl.truststore.type": "PEM", "ssl.truststore.certificates": on_one_line(pem / "own.crt"),
        "ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": on_one_line(pem / "own.crt"),
        "ssl.keystore.key": on_one_line(pem / "locked.key"), "ssl.key.password": SECRET,
    }  # fmt: skip


def librdkafka_files(pem: Path) -> dict[str, Any]:
    return {
        "ssl.ca.location": str(pem / "own.crt"), "ssl.certificate.location": str(pem / "own.crt"),
        "ssl.key.location": str(pem / "locked.key"), "ssl.key.password": SECRET,
    }  # fmt: skip


def librdkafka_inline(pem: Path) -> dict[str, Any]:
    certificate = (pem / "own.crt").read_text()
    return {"ssl.ca.pem": certificate, "ssl.certificate.pem": certificate, "ssl.key.pem": (pem / "plain.key").read_text()}


Made = Callable[[Path], dict[str, Any]]
TLS: list[tuple[str, Made]] = [
    ("java", java_files), ("java", java_inline), ("librdkafka", librdkafka_files), ("librdkafka", librdkafka_inline),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "made"), TLS)
def test_tls_with_a_certificate_of_its_own(pem: Path, dialect: str, made: Made) -> None:
    context = connection_settings(dialect, {"security.protocol": "SSL", **made(pem)})["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1") == "here"
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        subject_that_a_server_sees(pem, context, "localhost")


def test_tls_where_the_system_has_no_files_in_memory(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    context = connection_settings("java", {"security.protocol": "SSL", **java_inline(pem)})["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1") == "here"


@pytest.mark.parametrize(("dialect", "made"), TLS)
def test_tls_without_looking_at_the_name(pem: Path, dialect: str, made: Made) -> None:
    algorithm = {"java": "", "librdkafka": "none"}[dialect]
    settings = {"security.protocol": "SSL", **made(pem), "ssl.endpoint.identification.algorithm": algorithm}
    context = connection_settings(dialect, settings)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "localhost") == "here"


def test_tls_that_trusts_the_system_or_nobody(pem: Path) -> None:
    for dialect in ("java", "librdkafka"):
        context = connection_settings(dialect, {"security.protocol": "SSL"})["ssl_context"]
        with pytest.raises(ssl.SSLCertVerificationError):
            subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False)
    careless = {"security.protocol": "SSL", "enable.ssl.certificate.verification": False}
    context = connection_settings("librdkafka", careless)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "localhost", ask=False) == ""


def test_java_trusts_whatever_stands_in_its_trust_store_and_librdkafka_roots_alone(pem: Path) -> None:
    leaf = str(pem / "leaf.crt")
    java = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": leaf}
    context = connection_settings("java", java)["ssl_context"]
    assert subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False, own="leaf.pem") == ""
    context = connection_settings("librdkafka", {"security.protocol": "SSL", "ssl.ca.location": leaf})["ssl_context"]
    with pytest.raises(ssl.SSLCertVerificationError):
        subject_that_a_server_sees(pem, context, "127.0.0.1", ask=False, own="leaf.pem")


def test_a_wrong_password_of_a_key_is_said_without_it(pem: Path) -> None:
    for given in ({"ssl.key.password": f"{SECRET}-not"}, {}):
        settings = {**librdkafka_files(pem), **given}
        if not given:
            del settings["ssl.key.password"]
        assert "ssl.key.password" in str(refusal("librdkafka", {"security.protocol": "SSL", **settings}))
    assert "ssl.key.location" in str(
        refusal("librdkafka", {"security.protocol": "SSL", **librdkafka_files(pem), "ssl.key.location": str(pem / "own.crt")})
    )


def subject_that_a_server_sees(pem: Path, context: ssl.SSLContext, name: str, ask: bool = True, own: str = "both.pem") -> str:
    """Has a server of TLS ask for a certificate; the common name in it.  Raises what the client raises."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem / own)
    server.load_verify_locations(pem / "own.crt")
    server.verify_mode = ssl.CERT_REQUIRED if ask else ssl.CERT_NONE
    seen: list[Any] = []

    def serve(one: socket.socket) -> None:
        try:
            with server.wrap_socket(one, server_side=True) as connected:
                seen.append(connected.getpeercert())
                connected.sendall(b"x")
        except (OSError, ValueError):
            one.close()

    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()
    try:
        with context.wrap_socket(ours, server_hostname=name) as client:
            client.recv(1)
    finally:
        ours.close()
        thread.join()
    return dict(pair[0] for pair in seen[0]["subject"])["commonName"] if seen[0] else ""


class TokenServer(http.server.ThreadingHTTPServer):
    """Gives tokens to one client, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/token"


class Handler(http.server.BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        scheme, _, given = self.headers["Authorization"].partition(" ")
        self.server.asked.append((body, base64.b64decode(given).decode() if scheme == "Basic" else ""))
        known = self.server.asked[-1][1] == f"app:{SECRET}"
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": "t0ken"}).encode() if known else b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[TokenServer]:
    with TokenServer() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        yield server
        server.shutdown()


OIDC = {
    "java, in JAAS": (
        "java",
        {"sasl.jaas.config": f'M required clientId="app" clientSecret="{SECRET}" scope="kafka" extension_pool="p1";'},
    ),
    "java": (
        "java",
        {
            "sasl.jaas.config": 'M required extension_pool="p1";',
            "sasl.oauthbearer.client.credentials.client.id": "app",
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            "sasl.oauthbearer.scope": "kafka",
        },
    ),
    "librdkafka": (
        "librdkafka",
        {
            "sasl.oauthbearer.method": "OIDC",
            "sasl.oauthbearer.client.id": "app",
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.extensions": "pool=p1",
        },
    ),
}


@pytest.mark.parametrize("name", OIDC)
def test_client_credentials(endpoint: TokenServer, name: str) -> None:
    dialect, given = OIDC[name]
    settings = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": endpoint.url, **given}
    provider = connection_settings(dialect, settings)["sasl_oauth_token_provider"]
    assert (provider.token(), provider.extensions()) == ("t0ken", {"pool": "p1"})
    assert endpoint.asked == [("grant_type=client_credentials&scope=kafka", f"app:{SECRET}")]


def test_client_credentials_that_are_refused(endpoint: TokenServer) -> None:
    with pytest.raises(EnvironmentProblem, match="HTTPError") as raised:
        client_credentials(endpoint.url, "app", f"{SECRET}-not")()
    assert SECRET not in str(raised.value)
    with pytest.raises(ClientscopeError, match="https"):
        client_credentials("file:///etc/passwd", "app", SECRET)


def claims(token: str) -> dict[str, Any]:
    return dict(json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==")))


def test_unsecured_tokens_of_development() -> None:
    java = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": 'M required unsecuredLoginStringClaim_sub="alice";'}
    rdkafka = {**SASL, "sasl.mechanism": "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt": "true"}
    rdkafka["sasl.oauthbearer.config"] = "scope=x principal=alice"
    for made in (connection_settings("java", java), connection_settings("librdkafka", rdkafka)):
        token = made["sasl_oauth_token_provider"].token()
        assert token.endswith(".")
        assert claims(token)["sub"] == "alice"


def test_a_token_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    url = (tmp_path / "token").as_uri()
    settings = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "M required;", "sasl.oauthbearer.token.endpoint.url": url}
    assert connection_settings("java", settings)["sasl_oauth_token_provider"].token() == "t0ken"


@pytest.mark.parametrize(("answer", "extensions"), [(("t0ken", 1.0), {}), (("t0ken", 1.0, "alice", {"pool": "p1"}), {"pool": "p1"})])
def test_confluents_callback(answer: tuple[Any, ...], extensions: dict[str, str]) -> None:
    asked: list[str] = []

    def callback(config: str) -> tuple[Any, ...]:
        asked.append(config)
        return answer

    settings = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "c", "oauth_cb": callback}
    provider = connection_settings("librdkafka", settings)["sasl_oauth_token_provider"]
    assert (provider.token(), provider.extensions(), asked) == ("t0ken", extensions, ["c"])


class AsyncProvider:
    """As aiokafka's, and only of use on the loop that made it."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def token(self) -> str:
        await asyncio.sleep(0)
        self.loops.append(asyncio.get_running_loop())
        return "t0ken"

    def extensions(self) -> dict[str, str]:
        return {"pool": "p1"}


def test_aiokafkas_coroutine_runs_on_the_clients_loop() -> None:
    provider = AsyncProvider()
    settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": provider}

    async def in_a_loop() -> tuple[str, bool]:
        made = connection_settings("aiokafka", settings)["sasl_oauth_token_provider"]
        token = await asyncio.to_thread(made.token)
        return token, provider.loops == [asyncio.get_running_loop()]

    assert asyncio.run(in_a_loop()) == ("t0ken", True)
    made = connection_settings("aiokafka", settings)["sasl_oauth_token_provider"]
    assert (made.token(), made.extensions()) == ("t0ken", {"pool": "p1"})


def test_importing_the_client_imports_neither_optional_package() -> None:
    code = """
import sys
import clientscope.client.push, clientscope.client.connection_settings
print({"aiokafka", "confluent_kafka"} & set(sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"


@pytest.mark.parametrize(("module", "package"), [("aiokafka", "aiokafka"), ("confluent_kafka", "confluent-kafka")])
def test_a_missing_package_is_named(module: str, package: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from clientscope.errors import ClientscopeError
try:
    import clientscope.client.{module}
except ClientscopeError as error:
    print(error.hint)
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == f"pip install {package}"
    )
