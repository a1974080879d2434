"""Check of Apprise's own URLs, as far as possible without Apprise and without connecting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from sinks.alerts.addresses import AddressRefused, Network, check, check_host

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)

OTHERS = frozenset(
    {
        "file", "syslog", "dbus", "kde", "qt", "glib", "gnome", "macosx", "windows", "blink1",  # of this machine, not of a network
        "rsyslog", "growl", "smpp", "smpps",  # by libraries, or ways, that no address can be checked in
    }
)  # fmt: skip
"""Schemes that are refused."""

_NAMES_ITS_HOST = frozenset(
    {
        "http", "https", "json", "jsons", "xml", "xmls", "form", "forms", "mailto", "mailtos", "apprise", "apprises",
        "gotify", "gotifys", "mmost", "mmosts", "rocket", "rockets", "matrix", "matrixs", "mqtt", "mqtts", "hassio", "hassios",
        "ncloud", "nclouds", "nctalk", "nctalks", "signal", "signals", "synology", "synologys",
    }
)  # fmt: skip
"""Schemes whose host is the one that is connected to; of others it is a token."""


def check_address(url: str, allowed: Sequence[Network]) -> None:
    """Checks the scheme, and the host as far as it is one.

    Raises:
        AddressRefused: it is several addresses, one of a kind that isn't delivered to, or one that is not permitted.
    """
    schemes = _SCHEME.findall(url.split("?", 1)[0])
    if not schemes or not _SCHEME.match(url):
        raise AddressRefused("it is no address of Apprise's, as in slack://… or mailto://…")
    if len(schemes) > 1:
        raise AddressRefused("it is more than one address: make a receiver of each")
    scheme = schemes[0].lower()
    if scheme in OTHERS:
        raise AddressRefused(f"{scheme}:// isn't delivered to")
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return  # a token that looks like half an IPv6 address
    if scheme in _NAMES_ITS_HOST and host:
        check_host(host, allowed)
        return
    try:
        address = ip_address(host)
    except ValueError:
        return
    check(address, allowed)
