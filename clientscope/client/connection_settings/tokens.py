"""Bearer tokens for OAUTHBEARER (KIP-255, KIP-768), as kafka-python's token providers."""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka.net.sasl.oauth import AbstractTokenProvider

from clientscope.errors import EnvironmentProblem, SettingsError

_TIMEOUT_S = 10.0
_MOST_BYTES = 1 << 20


class TokenProvider(AbstractTokenProvider):
    """A token from a function, which is called on each authentication, in the thread that pushes."""

    def __init__(self, token: Callable[[], str], extensions: Callable[[], Mapping[str, str]] = dict) -> None:
        super().__init__()
        self._token = token
        self._extensions = extensions

    def token(self) -> str:
        """The token."""
        return self._token()

    def extensions(self) -> dict[str, str]:
        """SASL extensions (KIP-342)."""
        return dict(self._extensions())


def client_credentials(
    url: str, client_id: str, client_secret: str, scope: str = "", *, url_encode: bool = False, context: ssl.SSLContext | None = None
) -> Callable[[], str]:
    """OAuth's client credentials grant (RFC 6749, 4.4) at a token endpoint.

    Args:
        url_encode: whether id and secret are encoded before they go into the header, as the RFC has it and most servers don't.

    Raises:
        SettingsError: the address is not HTTP; the function itself raises EnvironmentProblem if it gets no token.
    """
    if urllib.parse.urlsplit(url).scheme not in ("https", "http"):
        raise SettingsError("sasl.oauthbearer.token.endpoint.url must begin with https:// or http://")
    if url_encode:
        client_id, client_secret = urllib.parse.quote_plus(client_id), urllib.parse.quote_plus(client_secret)
    authorization = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    body = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})

    def token() -> str:
        request = urllib.request.Request(  # noqa: S310 - the scheme is looked at above
            url,
            data=urllib.parse.urlencode(body).encode(),
            headers={"Accept": "application/json", "Authorization": f"Basic {authorization}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as response:  # noqa: S310
                return str(json.loads(response.read(_MOST_BYTES))["access_token"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            raise EnvironmentProblem(f"no token from sasl.oauthbearer.token.endpoint.url: {type(error).__name__}") from None

    return token


def from_file(url: str) -> Callable[[], str]:
    """A token that a file holds, by its ``file:`` address; it is read each time."""
    path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
    return lambda: path.read_text().strip()


def unsecured(principal: str, lifetime_s: float = 3600.0) -> Callable[[], str]:
    """An unsigned JWT (RFC 7515, appendix A.5), which Kafka's default validator takes; for development alone.

    It doesn't say when it was issued: the validator allows no difference of clocks, so it would refuse a token of a host that is a
    millisecond ahead of the broker's (KIP-255, ``unsecuredValidatorAllowableClockSkewMs``).
    """

    def token() -> str:
        parts = ({"alg": "none"}, {"sub": principal, "exp": time.time() + lifetime_s})
        return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."

    return token
