"""From settings to who may do what; a page that others can reach never starts without asking who they are."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

from clientscope.config import ServeSettings
from clientscope.config_types import split_networks
from clientscope.errors import SettingsError
from clientscope.secret_files import require_private
from clientscope.topic_values import clean
from sinks.dashboard.access import Access, Proxy, Token, Visitor
from sinks.dashboard.models_more import Role
from sinks.dashboard.security import is_loopback

SHORTEST_TOKEN = 16
_LONGEST_TOKEN = 1_024
_MOST_TOKENS = 1_000
_MOST_BYTES = 1024 * 1024
_TOKEN = re.compile(r"[\x21-\x7e]+")
_HINT = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"


def access_of(settings: ServeSettings, host: str) -> Access:
    """Who may do what.

    Args:
        host: what the page listens on.

    Raises:
        SettingsError: others could reach the page and would be asked for nothing; or a file or a setting that is none.
    """
    tokens = [*_tokens(settings.reader_token_file, "reader"), *_tokens(settings.admin_token_file, "admin")]
    if len({token.secret for token in tokens}) < len(tokens):
        raise SettingsError("a token stands twice in the token files", "each lets one person, or one program, in")
    proxy = _proxy(settings)
    if not tokens and proxy is None and not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached from other machines, and the page would ask nobody who they are",
            "set --reader-token-file or --admin-token-file, or --proxy-user-header with --trusted-proxies, or listen on 127.0.0.1",
        )
    return Access(tokens, proxy, Visitor(_local_user(), settings.loopback_role), settings.external_url)


def _proxy(settings: ServeSettings) -> Proxy | None:
    trusted = split_networks(settings.trusted_proxies)
    if bool(settings.proxy_user_header) != bool(trusted):
        raise SettingsError(
            "--proxy-user-header and --trusted-proxies belong together", "a header that anybody may send says nothing about who asks"
        )
    if any(network.prefixlen == 0 for network in trusted):
        raise SettingsError("--trusted-proxies: this trusts every address", "name the proxy's own")
    if not trusted:
        return None
    admins = frozenset(name.strip() for name in settings.admins.split(",") if name.strip())
    return Proxy(settings.proxy_user_header, trusted, admins)


def _tokens(path: Path | None, role: Role) -> list[Token]:
    if path is None:
        return []
    setting = f"--{role}-token-file"
    require_private(path, setting, _HINT)
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    lines = content.decode("utf-8", "replace").splitlines() if len(content) <= _MOST_BYTES else []
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        *name, secret = line.split()
        if len(name) > 1 or not SHORTEST_TOKEN <= len(secret) <= _LONGEST_TOKEN or not _TOKEN.fullmatch(secret):
            raise SettingsError(
                f"{setting} {path}: line {number} is no token of {SHORTEST_TOKEN} characters or more, with or without a name before it",
                _HINT,
            )
        found.append(Token(clean(name[0]) if name else role, role, secret))
    if not found or len(found) > _MOST_TOKENS:
        raise SettingsError(f"{setting} {path}: {len(found) or 'no'} tokens", _HINT)
    return found


def _local_user() -> str:
    try:
        return clean(getpass.getuser())
    except (OSError, KeyError):
        return "local"
