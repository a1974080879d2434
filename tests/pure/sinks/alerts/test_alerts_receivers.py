"""receivers.toml: its meaning, and that an error names the line and shows no secret."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from alert_receivers import SECRET, receiver
from made_findings import BILLING, leak, made

from clientscope.errors import SettingsError
from sinks.alerts import receivers
from sinks.alerts.receivers import Receiver

CANARY = "canary-9137"
ENVIRON = {
    "HOOK": "whsec_" + base64.b64encode(SECRET).decode(),
    "CHAT": f"slack://T1/{CANARY}/x",
    "SHORT": f"whsec_{CANARY}",
    "EMPTY": "",
    "LOCAL": "dbus://",
    "TWO": "json://a.example,json://b.example",
}

HOOK = '[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "https://hooks.example.com/x"\nsecrets = ["env:HOOK"]\n'
AM = '[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["http://10.0.0.7:9093"]\n'


def read(tmp_path: Path, text: str) -> list[Receiver]:
    file = tmp_path / "receivers.toml"
    file.write_text(text)
    return receivers.read(file, ENVIRON)


def test_what_it_says(tmp_path: Path) -> None:
    hook, am = read(tmp_path, HOOK + 'severity = "high"\ncode = ["SK*", "AN1??"]\nprincipal = "User:pay*"\n' + AM)
    assert (hook.name, hook.severity, hook.patterns) == ("hook", "high", {"code": ("SK*", "AN1??"), "principal": ("User:pay*",)})
    assert (hook.secrets, am.urls, hook.allowed_hosts) == ((SECRET,), ("http://10.0.0.7:9093",), None)
    assert SECRET.decode() not in repr(hook) and "hooks.example" not in repr(hook)
    (limited,) = read(tmp_path, 'allowed_hosts = ["*.example.com", "10.0.0.0/24", "::1"]\n' + HOOK)
    allowed = limited.allowed_hosts
    assert allowed is not None
    assert allowed.has_name("HOOKS.example.com.") and not allowed.has_name("example.com")
    assert allowed.has_address("::ffff:10.0.0.9") and allowed.has_address("::1") and not allowed.has_address("10.0.1.0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: receiver is missing"),
        (HOOK + HOOK, ":7: receiver[2].name: there are two 'hook'"),
        (HOOK + "sevrity = 'high'\n", ":6: unknown key receiver[1].sevrity"),
        (HOOK.replace("hook", "ho ok", 1), ":2: receiver[1].name: letters"),
        (HOOK.replace("webhook", "pager"), ":3: receiver[1].kind: Input should be"),
        (HOOK.replace('secrets = ["env:HOOK"]\n', ""), ":1: receiver[1].secrets is missing"),
        (
            HOOK.replace('["env:HOOK"]', '["env:HOOK", "env:HOOK", "env:HOOK"]'),
            ":5: receiver[1].secrets: Tuple should have at most 2 items",
        ),
        (HOOK.replace("env:HOOK", "env:SHORT"), ":5: receiver[1].secrets: env:SHORT holds no secret by Standard Webhooks"),
        (HOOK.replace("env:HOOK", "env:EMPTY"), ":5: receiver[1].secrets: the environment has no EMPTY"),
        (HOOK.replace("env:HOOK", f"whsec_{CANARY}"), ":5: receiver[1].secrets: a secret must not be written here itself"),
        (HOOK.replace("env:HOOK", "env:CLIENTSCOPE_X"), "looks like one of clientscope's own settings"),
        (HOOK.replace("env:HOOK", "file:/nonexistent"), ":5: receiver[1].secrets /nonexistent: No such file"),
        (HOOK.replace("https://hooks.example.com/x", "file:///etc/passwd"), ":4: receiver[1].url: it is no HTTP address"),
        (HOOK + 'ca = "/nonexistent.pem"\n', ":6: receiver[1].ca: /nonexistent.pem: no such file"),
        (HOOK + 'headers = { Host = "env:HOOK" }\n', ":6: receiver[1].headers: 'Host' is no header that may be set"),
        (
            HOOK + 'headers = { Authorization = "Bearer x" }\n',
            ":6: receiver[1].headers.Authorization: a secret must not be written here itself",
        ),
        (HOOK + 'urls = ["https://a.example"]\n', ":6: unknown key receiver[1].urls"),
        (AM.replace('urls = ["http://10.0.0.7:9093"]', "urls = []"), ":4: receiver[1].urls: Tuple should have at least 1 item"),
        ('[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "slack://a/b/c"\n', ":4: receiver[1].url: Apprise's addresses hold secrets"),
        ('[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "env:LOCAL"\n', ":4: receiver[1].url: dbus:// isn't delivered to"),
        ('[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "env:TWO"\n', ":4: receiver[1].url: it is more than one address"),
        ('allowed_hosts = ["slack.com"]\n' + HOOK, ":5: receiver[1].url: hooks.example.com is not in allowed_hosts"),
        ('allowed_hosts = ["*.com", "10.0.1.0/24"]\n' + AM, ":5: receiver[1].urls: 10.0.0.7 is not in allowed_hosts"),
        (HOOK.replace("https://hooks", "https://u:p@hooks"), ":4: receiver[1].url: it has a user or password"),
    ],
)
def test_a_mistake_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.hint
    assert CANARY not in f"{caught.value} {caught.value.hint}"


def test_a_secret_of_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(ENVIRON["HOOK"] + "\n")
    secret.chmod(0o644)
    text = HOOK.replace("env:HOOK", f"file:{secret}")
    with pytest.raises(SettingsError, match="every user of this machine may use it"):
        read(tmp_path, text)
    secret.chmod(0o600)
    assert read(tmp_path, text)[0].secrets == (SECRET,)
    secret.write_text(f"{CANARY}\n{CANARY}\n")
    with pytest.raises(SettingsError, match="more than one line") as caught:
        read(tmp_path, text)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "finding", "fits"),
    [
        ({}, made(), True),
        ({"code": ("AN*",)}, made(), True),
        ({"code": ("an*",)}, made(), False),
        ({"principal": ("User:orders",)}, made(), True),
        ({"principal": ("User:bill*",)}, made(), False),
        ({"code": ("SK*",), "client_id": ("nobody",)}, leak(), False),
        ({"team": ("shop",)}, made(), True),
        ({"principal": ("*",)}, made(application=BILLING.model_copy(update={"principal": None})), False),
    ],
)
def test_which_receivers_get_a_finding(patterns: dict[str, Any], finding: object, fits: bool) -> None:
    assert receiver(patterns=patterns).wants(finding) is fits  # type: ignore[arg-type]


def test_severity_is_this_or_worse() -> None:
    findings = [made(severity=severity) for severity in ("info", "low", "medium", "high", "critical")]
    assert [receiver(severity="high").wants(finding) for finding in findings] == [False, False, False, True, True]
