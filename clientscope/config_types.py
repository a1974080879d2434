"""Types of settings (addresses, networks, tables), each checked when it is read; an error shows the expected form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator

Network = IPv4Network | IPv6Network


def split_address(address: str) -> tuple[str, int]:
    """``HOST:PORT``, an IPv6 host in brackets, as a pair.

    Raises:
        ValueError: the text has another form.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not HOST:PORT, as in 127.0.0.1:9092")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether a host, without its port, names this machine only."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def split_ports(ports: str) -> range:
    """``9093-9192`` as the ports from the first to the last; an empty text is none.

    Raises:
        ValueError: the text has another form.
    """
    if not ports:
        return range(0)
    found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", ports)
    if found is None or not 0 < int(found[1]) <= int(found[2]) <= 65535:
        raise ValueError(f"{ports!r} is not FIRST-LAST, as in 9093-9192")
    return range(int(found[1]), int(found[2]) + 1)


def split_networks(networks: str) -> list[Network]:
    """``10.0.0.0/8,fd00::/8,192.0.2.7`` as networks; an address alone is a network of one.

    Raises:
        ValueError: one of them is not a network, or has bits beyond its prefix.
    """
    return [ip_network(network.strip()) for network in networks.split(",") if network.strip()]


def is_within(address: str, networks: Iterable[Network]) -> bool:
    """Whether an address is of one of the networks; one of IPv4 within IPv6 counts as itself."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return any(ip in network for network in networks)


def _split_pairs(given: Any) -> Any:
    """``key=value,key=value`` of a flag or variable as a table; a TOML table as it is."""
    if not isinstance(given, str):
        return given
    pairs = [pair.partition("=") for pair in given.split(",") if pair.strip()]
    for key, equals, _ in pairs:
        if not equals or not key.strip():
            raise ValueError("expected KEY=VALUE,KEY=VALUE; put a value that has a comma into a TOML file")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _split_declared(given: Any) -> Any:
    """``id=NAME/VERSION,id=NAME`` as broker id → text, each checked."""
    declared = _by_broker_id(given)
    for text in declared.values():
        name, slash, version = str(text).partition("/")
        if not name or (slash and not version):
            raise ValueError(f"{text!r} is neither NAME/VERSION, as in Kafka/4.4.0, nor NAME")
    return declared


def _split_urls(given: Any) -> Any:
    """``id=URL,id=URL`` as broker id → URL, each checked."""
    urls = _by_broker_id(given)
    for url in urls.values():
        check_url(url)
    return urls


def _by_broker_id(given: Any) -> dict[Any, Any]:
    pairs = _split_pairs(given)
    if not isinstance(pairs, dict):
        raise ValueError("expected a table of broker ids")  # noqa: TRY004 - pydantic wants this one
    for broker_id in pairs:
        if not str(broker_id).isdigit():
            raise ValueError(f"{broker_id!r} is not a broker id; expected ID=…,ID=…")
    return pairs


def check_url(url: Any) -> Any:
    """Raises ValueError for text that is not an HTTP address."""
    if not isinstance(url, str):
        return url
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError(f"{url!r} is not an HTTP address, as in http://broker-1:9404/metrics")
    return url


def _check_software(text: Any) -> Any:
    """A software name or version as KIP-511 has it."""
    if isinstance(text, str) and text and not re.fullmatch(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", text):
        raise ValueError(f"{text!r} is invalid: use letters, digits, - and . only, and begin and end with a letter or a digit")
    return text


def _check_external(url: str) -> str:
    """Raises ValueError for text that is not the address of a page."""
    check_url(url)
    parts = urlsplit(url)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not the address of a page, as in https://kafka.example/clients/")
    return url


def _check_header(name: str) -> str:
    if name and not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}", name):
        raise ValueError(f"{name!r} is not the name of a header, as in X-Forwarded-User")
    return name


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_STORES = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs")


def _check_folder(given: Any) -> str:
    """A path, or an address that Spark and delta-rs take as it is.

    Raises:
        ValueError: an address of another form or kind, or with credentials, which belong to the environment or the machine's role.
    """
    text = str(given)
    if not _ADDRESS.match(text):
        return text
    parts = urlsplit(text)
    if parts.scheme not in _STORES:
        raise ValueError(f"{parts.scheme}: is no scheme of a store; known are {', '.join(_STORES)}")
    if not parts.netloc or "?" in text or "#" in text or ":" in parts.netloc.rpartition("@")[0]:
        raise ValueError("expected an address like s3a://BUCKET/FOLDER or hdfs://NAMENODE:PORT/FOLDER, without credentials")
    return text.rstrip("/")


def _check_local(given: Any) -> Any:
    if _ADDRESS.match(str(given)):
        raise ValueError("expected a directory on this machine, not an address")
    return given


def _checked(split: Callable[[str], Any]) -> AfterValidator:
    """Leaves a text as it is, where it can be split."""

    def check(text: str) -> str:
        split(text)
        return text

    return AfterValidator(check)


Table = Annotated[dict[str, str | int | float | bool], BeforeValidator(_split_pairs)]
DeclaredSoftware = Annotated[dict[int, str], BeforeValidator(_split_declared)]
SoftwareText = Annotated[str, BeforeValidator(_check_software)]
Urls = Annotated[dict[int, str], BeforeValidator(_split_urls)]
Folder = Annotated[str, BeforeValidator(_check_folder)]
LocalPath = Annotated[Path, BeforeValidator(_check_local)]
Address = Annotated[str, _checked(split_address)]
HttpUrl = Annotated[str, AfterValidator(_check_external)]
HeaderName = Annotated[str, AfterValidator(_check_header)]
Ports = Annotated[str, _checked(split_ports)]
Networks = Annotated[str, _checked(split_networks)]
Addresses = Annotated[str, _checked(lambda addresses: [split_address(address.strip()) for address in addresses.split(",")])]
