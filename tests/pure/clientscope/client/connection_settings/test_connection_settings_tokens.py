"""Tokens of OAUTHBEARER in each dialect."""

from __future__ import annotations

import asyncio
import base64
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from connection_refusals import SASL, SECRET

from clientscope.client.connection_settings import connection_settings
from clientscope.client.connection_settings.tokens import client_credentials
from clientscope.errors import ClientscopeError, EnvironmentProblem


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
        assert (claims(token)["sub"], claims(token).keys()) == ("alice", {"sub", "exp"}), "a broker whose clock is behind refuses an iat"


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
