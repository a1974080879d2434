"""Access rules from settings; a page that other machines can reach never starts without authentication."""

from __future__ import annotations

import getpass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from clientscope import tokens
from clientscope.api.access import Role
from clientscope.config import ServeSettings
from clientscope.config_types import split_networks
from clientscope.errors import SettingsError
from clientscope.topic_values import clean
from sinks.dashboard.http.access import Access, Proxy, Token, Visitor
from sinks.dashboard.http.security import is_loopback


def access_of(settings: ServeSettings, host: str) -> Access:
    """The access rules of the page.

    Args:
        host: what the page listens on.

    Raises:
        SettingsError: others could reach the page without authentication; or a file or a setting is invalid.
    """
    found = [*_tokens(settings.reader_token_file, "reader"), *_tokens(settings.admin_token_file, "admin")]
    if len({token.secret for token in found}) < len(found):
        raise SettingsError("a token is in the token files twice", "each lets one person, or one program, in")
    trusted = _trusted(settings, bool(found))
    proxy = _proxy(settings, trusted)
    if not found and proxy is None and not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached from other machines, and the page would have no authentication",
            "set --reader-token-file or --admin-token-file, or --proxy-user-header with --trusted-proxies, or listen on 127.0.0.1",
        )
    return Access(found, proxy, Visitor(_local_user(), settings.loopback_role), settings.external_url, trusted=trusted)


def _trusted(settings: ServeSettings, tokens_given: bool) -> list[IPv4Network | IPv6Network]:
    trusted = split_networks(settings.trusted_proxies)
    if settings.proxy_user_header and not trusted:
        raise SettingsError("--proxy-user-header needs --trusted-proxies", "a header that anybody may send says nothing about who asks")
    if trusted and not settings.proxy_user_header and not tokens_given:
        raise SettingsError("--trusted-proxies needs --proxy-user-header, or tokens", "without either, the page has no authentication")
    if any(network.prefixlen == 0 for network in trusted):
        raise SettingsError("--trusted-proxies: this trusts every address", "name the proxy's own")
    return list(trusted)


def _proxy(settings: ServeSettings, trusted: list[IPv4Network | IPv6Network]) -> Proxy | None:
    if not settings.proxy_user_header:
        return None
    admins = frozenset(name.strip() for name in settings.admins.split(",") if name.strip())
    return Proxy(settings.proxy_user_header, trusted, admins)


def _tokens(path: Path | None, role: Role) -> list[Token]:
    found = tokens.read(path, f"--{role}-token-file") if path else []
    return [Token(clean(one.name) if one.name else role, role, one.secret) for one in found]


def _local_user() -> str:
    try:
        return clean(getpass.getuser())
    except (OSError, KeyError):
        return "local"
