"""receivers.toml: its meaning, and that an error names the line and shows no secret."""

from __future__ import annotations

import base64
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alert_receivers import SECRET, receiver
from golden import cases, is_golden
from made_findings import BILLING, leak, made
from private_files import private
from refusals import refused

from clientscope.errors import SettingsError
from sinks.alerts import receivers

CANARY = "canary-9137"
ENVIRON = {
    "HOOK": "whsec_" + base64.b64encode(SECRET).decode(),
    "CHAT": f"slack://T1/{CANARY}/x",
    "SHORT": f"whsec_{CANARY}",
    "EMPTY": "",
    "LOCAL": "dbus://",
    "PLAIN": "canary.example",
    "SNOW": "☃",
    "TWO": "json://a.example,json://b.example",
}

HOOK = '[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "https://hooks.example.com/x"\nsecrets = ["env:HOOK"]\n'
AM = '[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["http://10.0.0.7:9093"]\n'


def read(tmp_path: Path, text: str) -> list[Any]:
    file = tmp_path / "receivers.toml"
    file.write_text(text)
    return [*receivers.read(file, ENVIRON)]


def test_what_it_says(tmp_path: Path) -> None:
    hook, am = read(tmp_path, HOOK + 'severity = "high"\ngroup_wait_seconds = 0.5\ncode = ["SK*", "AN1??"]\nprincipal = "User:pay*"\n' + AM)
    assert (hook.name, hook.severity, hook.code, hook.principal) == ("hook", "high", ("SK*", "AN1??"), ("User:pay*",))
    assert (hook.secrets, am.urls, hook.allowed_hosts, hook.group_wait_s) == ((SECRET,), ("http://10.0.0.7:9093",), None, 0.5)
    assert SECRET.decode() not in repr(hook) and "hooks.example" not in repr(hook)
    of_all = f'ca = "{tmp_path}/receivers.toml"\nheaders = {{ X-Token = "env:SHORT" }}\n'
    more = 'timeout_seconds = 3\nresolved = false\nclient_id = ["a*"]\nteam = "shop"\n'
    chat = '[[receiver]]\nname = "chat"\nkind = "apprise"\nurl = "env:CHAT"\ngroup_wait_seconds = 2\n'
    given, chatty = read(tmp_path, HOOK + of_all + more + chat + more)
    assert (given.ca, given.headers) == (tmp_path / "receivers.toml", {"X-Token": ENVIRON["SHORT"]})
    for each in (given, chatty):
        assert (each.timeout_s, each.resolved, each.client_id, each.team) == (3.0, False, ("a*",), ("shop",))
    assert (chatty.kind, chatty.urls, chatty.group_wait_s) == ("apprise", (ENVIRON["CHAT"],), 2.0)
    (limited,) = read(tmp_path, 'allowed_hosts = ["*.example.com", "10.0.0.0/24", "::1"]\n' + HOOK)
    allowed = limited.allowed_hosts
    assert allowed is not None
    assert allowed.has_name("HOOKS.example.com.") and not allowed.has_name("example.com")
    assert allowed.has_address("::ffff:10.0.0.9") and allowed.has_address("::1") and not allowed.has_address("10.0.1.0")


@pytest.mark.parametrize(("size", "is_taken"), [(23, False), (24, True), (64, True), (65, False)])
def test_a_signing_secret_has_the_size_that_standard_webhooks_asks_for(tmp_path: Path, size: int, is_taken: bool) -> None:
    secret = private(tmp_path / "secret", "whsec_" + base64.b64encode(b"s" * size).decode())
    with nullcontext() if is_taken else refused("24 to 64 bytes"):
        assert read(tmp_path, HOOK.replace("env:HOOK", f"file:{secret}"))[0].secrets == (b"s" * size,)


CHAT = '[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "env:CHAT"\n'
BEFORE = {"nothing": "", "two hooks": HOOK + HOOK, "hook": HOOK, "alertmanager": AM, "chat": CHAT}


def test_a_mistake_is_said_with_its_line(tmp_path: Path) -> None:
    said = ""
    for number, (name, old, added) in enumerate(cases(__file__, "mistakes.txt")):
        new = added.replace("\\n", "\n")
        with pytest.raises(SettingsError) as caught:
            read(tmp_path, BEFORE[name].replace(old, new, 1) if old else f"{BEFORE[name]}{new}\n")
        assert caught.value.hint
        said += f"{number}\n  {caught.value}\n  {caught.value.hint}\n"
    assert CANARY not in said and is_golden(said.replace(str(tmp_path), "FOLDER"), __file__, "mistakes.txt")


def test_a_secret_of_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    secret = private(tmp_path / "secret", ENVIRON["HOOK"] + "\n", 0o644)
    text = HOOK.replace("env:HOOK", f"file:{secret}")
    with refused("every user of this machine may use it"):
        read(tmp_path, text)
    secret.chmod(0o600)
    assert read(tmp_path, text)[0].secrets == (SECRET,)
    secret.write_text(f"{CANARY}\n{CANARY}\n")
    with refused("more than one line") as caught:
        read(tmp_path, text)
    assert CANARY not in str(caught.value)


FINDINGS = {"setting": made(), "leak": leak(), "nobody's": made(application=replace(BILLING, principal=None))}


@pytest.mark.parametrize(("asked", "finding", "fits"), cases(__file__, "wanted.txt"))
def test_which_receivers_get_a_finding(asked: str, finding: str, fits: str) -> None:
    patterns = {key: (pattern,) for key, pattern in (each.split("=") for each in asked.split())}
    assert receiver(**patterns).wants(FINDINGS[finding]) is (fits == "yes")
