"""Checks of ports: whether each address that a process is to listen on is free, or in use by a clientscope process."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException

from clientscope.commands.doctor.probing import probe
from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import Situation
from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem
from clientscope.local.process import require_free


def check_ports(situation: Situation) -> Iterator[CheckResult]:
    """One result for each address."""
    gateway, stream, serve = situation.gateway, situation.stream, situation.serve
    addresses = []
    if gateway:
        addresses += [("gateway", "listen", gateway.listen), ("gateway", "metrics-listen", gateway.metrics_listen)]
        addresses += [("gateway", "admin-listen", gateway.admin_listen)]
    if serve:
        addresses += [("serve", "listen", serve.listen)]
    if stream:
        addresses += [("stream", "metrics-listen", stream.metrics_listen)]
    tls = bool(gateway and gateway.ssl_certificate_location)
    for process, name, address in addresses:
        host, port = split_address(address)
        if port == 0:
            yield not_checked(f"{process} --{name} is {address}: port 0 is off, or any free port")
            continue
        yield _check(process, name, host, port, tls=tls, timeout_s=situation.timeout_s)


def _check(process: str, name: str, host: str, port: int, *, tls: bool, timeout_s: float) -> CheckResult:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        require_free(address, name)
    except EnvironmentProblem as error:
        if "in use" not in str(error):
            reason = str(error).rpartition(": ")[2]
            return warning(
                f"{process} --{name} {address}: cannot listen here ({reason})", f"run this where clientscope {process} runs, or change it"
            )
    except OSError:
        return warning(
            f"{process} --{name} {address}: {host} doesn't resolve to an address here", f"correct [{process}] in clientscope.toml"
        )
    else:
        return ok(f"{process} --{name} {address} is free")
    used = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not listened on
    ours = (
        probe(used, port, tls=tls, timeout_s=timeout_s).is_gateway
        if (process, name) == ("gateway", "listen")
        else _is_ours(used, port, name, timeout_s)
    )
    if ours:
        return ok(f"{process} --{name} {address} is in use by clientscope")
    return problem(
        f"{process} --{name} {address} is in use by another program",
        f"stop that program, or choose another address with --{name}",
        f"ss -ltnp 'sport = :{port}'",
    )


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""For addresses of this machine, whatever proxy the environment names."""

_PAGES: Mapping[str, tuple[str, Callable[[bytes], bool]]] = {
    "metrics-listen": ("metrics", lambda page: b"\nclientscope_" in page),
    "admin-listen": ("v1/bypass", lambda page: page.strip() in (b"true", b"false")),
    "listen": ("api/v1/me", lambda page: b'"role"' in page),
}


def _is_ours(host: str, port: int, name: str, timeout_s: float) -> bool:
    """Whether what answers there has a page that clientscope's process has; all of these need no token."""
    path, recognised = _PAGES[name]
    shown = f"[{host}]" if ":" in host else host
    try:
        with _OPENER.open(f"http://{shown}:{port}/{path}", timeout=timeout_s) as response:
            return recognised(response.read(1024 * 1024))
    except (OSError, ValueError, HTTPException):
        return False
