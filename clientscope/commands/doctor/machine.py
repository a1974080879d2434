"""Checks of this machine: Java, Spark, disks, and the ports of clientscope's processes."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote

from clientscope.commands.doctor.listeners import probe
from clientscope.commands.doctor.result import CheckResult, Situation, not_checked, ok, problem, warning
from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem
from clientscope.local import jars
from clientscope.local.java import java
from clientscope.local.java import version as java_version
from clientscope.local.process import require_free
from streaming.releases import release

_GIB = 1024**3
_LOW_BYTES, _FULL_BYTES = 5 * _GIB, _GIB // 2


def check_java(_: Situation) -> Iterator[CheckResult]:
    """The Java that the job and ``clientscope broker`` start."""
    try:
        path = java()
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    yield ok(f"Java {java_version(path)}, {path}")


def package_version(name: str) -> str:
    """The version of an installed package; ``not installed``."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def check_spark(_: Situation) -> Iterator[CheckResult]:
    """PySpark, and the jars that the job needs."""
    found = package_version("pyspark")
    if found == "not installed":
        yield not_checked("PySpark isn't installed; the job needs it: pip install 'clientscope[stream]'")
        return
    try:
        configuration = release(found).jars
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    if missing := jars.missing(configuration):
        text = f"PySpark {found}; {len(missing)} jars of the job are missing in {jars.home()}"
        yield warning(text, "the job's first start downloads them, which needs the network", "clientscope jars")
        return
    try:
        yield ok(f"PySpark {found}, {len(jars.jars(configuration))} jars as they were locked")
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")


def check_disk(situation: Situation) -> Iterator[CheckResult]:
    """Free space where the job writes."""
    folders = [str(situation.stream.checkpoint_dir), situation.stream.history_dir] if situation.stream else ["."]
    seen = set()
    for folder in folders:
        if "://" in folder:
            yield not_checked(f"{folder} is in a store, whose free space is not known")
            continue
        there = next(path for path in (Path(folder).absolute(), *Path(folder).absolute().parents) if path.exists())
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        text = f"{free / _GIB:,.1f} GiB are free for {folder}"
        if free < _FULL_BYTES:
            yield problem(text, "free some space before the job writes: a full disk parks its queries", f"df -h {quote(str(there))}")
        elif free < _LOW_BYTES:
            yield warning(text, "history grows; see how much before it is full", f"df -h {quote(str(there))}")
        else:
            yield ok(text)


_LISTENING = (
    ("gateway", "listen"), ("gateway", "metrics_listen"), ("gateway", "admin_listen"), ("serve", "listen"), ("stream", "metrics_listen"),
)  # fmt: skip
"""Processes, and their settings that are addresses of theirs."""


def check_ports(situation: Situation) -> Iterator[CheckResult]:
    """One result for each address."""
    tls = bool(situation.gateway and situation.gateway.ssl_certificate_location)
    for process, field in _LISTENING:
        settings = getattr(situation, process)
        if settings is None:
            continue
        name, address = field.replace("_", "-"), getattr(settings, field)
        host, port = split_address(address)
        if port == 0:
            yield not_checked(f"{process} --{name} is {address}: port 0 is off, or any free port")
            continue
        yield _check_port(process, name, host, port, tls=tls, timeout_s=situation.timeout_s)


def _check_port(process: str, name: str, host: str, port: int, *, tls: bool, timeout_s: float) -> CheckResult:
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
