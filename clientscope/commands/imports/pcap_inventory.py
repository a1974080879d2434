"""Implementation of ``clientscope import pcap``: the requests in captures, in the inventory of ``clientscope xray``."""

from __future__ import annotations

import gzip
from pathlib import Path

from clientscope.commands.imports.pcap import ImportPcapSettings
from clientscope.commands.imports.publishing import Publishing
from clientscope.commands.lint.shown import plain
from clientscope.commands.xray.asking import ClusterAnswers
from clientscope.commands.xray.inventory import Inventory, Place
from clientscope.commands.xray.result import LogRead
from clientscope.commands.xray.running import judge, show
from clientscope.commands.xray.upgrade import Upgrade, seen_on
from clientscope.errors import ClientscopeError, SettingsError
from clientscope.logs import files
from clientscope.logs.captured_requests import CapturedRequests
from clientscope.logs.packets import Packets
from clientscope.profiles import owners
from clientscope.readiness import target_release
from clientscope.records.layouts import Origin


def run(settings: ImportPcapSettings) -> int:
    """Prints the result; the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    upgrade = Upgrade(target_release(settings.target), seen_on(settings.broker_release), owners.read_if_given(settings.owners))
    publishing = Publishing(settings) if settings.publish else None
    inventory, logs, errors = read(settings)
    if not inventory.clients and not errors:
        errors.append(
            f"no request to port {settings.port} in these captures: give the listener's by --port; what TLS encrypts can't be read"
        )
    return show(settings, judge(settings, upgrade, inventory, logs, errors, publishing, ClusterAnswers(), Origin.CAPTURE))


def read(settings: ImportPcapSettings) -> tuple[Inventory, list[LogRead], list[str]]:
    """The clients, what was read of each capture, and errors of captures that couldn't be read.

    Raises:
        SettingsError: nothing is there.
    """
    inventory, logs, errors = Inventory(), list[LogRead](), list[str]()
    left = settings.max_bytes
    for path in files.find(settings.paths):
        if path is None:
            raise SettingsError("a capture isn't read from standard input", "give the file")
        try:
            logs.append(_read(path, settings, inventory, left))
        except ClientscopeError as error:
            errors.append(plain(f"{error}; {error.hint}", 400))
            continue
        left -= logs[-1].size
    inventory.end()
    return inventory, logs, errors


def _read(path: Path, settings: ImportPcapSettings, inventory: Inventory, left: int) -> LogRead:
    name = files.shown(path)
    requests = CapturedRequests()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            packets = Packets(file, name, (settings.port,), left)  # type: ignore[arg-type]
            for sent in packets.sent():
                for request in requests.read(sent):
                    inventory.add(request, Place(name, requests.requests))
    except (OSError, EOFError) as error:
        raise SettingsError(
            f"{path}: {getattr(error, 'strerror', None) or 'it is cut off'}", "what was read before is in the result"
        ) from None
    return LogRead(name, packets.size, requests.requests, requests.unreadable, packets.stopped)
