"""receivers.toml: its meaning, and that an error names the line and shows no secret."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from alert_receivers import SECRET, command, receiver
from made_findings import BILLING, NOW_MS, leak, made

from clientscope.errors import SettingsError
from sinks.alerts import receivers_file
from sinks.alerts.silences import Match, Silence

CANARY = "canary-9137"
ENVIRON = {"HOOK": "whsec_" + base64.b64encode(SECRET).decode(), "CHAT": f"slack://T1/{CANARY}/x", "SHORT": f"whsec_{CANARY}", "EMPTY": ""}

HOOK = '[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "https://hooks.example.com/x"\nsecrets = ["env:HOOK"]\n'
AM = '[[receiver]]\nname = "am"\nkind = "alertmanager"\nurls = ["http://10.0.0.7:9093"]\nallow_networks = ["10.0.0.0/8"]\n'


def read(tmp_path: Path, text: str) -> receivers_file.Receivers:
    file = tmp_path / "receivers.toml"
    file.write_text(text)
    return receivers_file.read(file, ENVIRON)


def test_what_it_says(tmp_path: Path) -> None:
    more = 'severity = "high"\ncode = ["SK*", "AN1??"]\nprincipal = "User:pay*"\nzone = "Europe/Berlin"\n[receiver.damping]\nafter = 5\n'
    made_of = read(
        tmp_path, HOOK + more + AM + '[[silence]]\nreason = "nights"\nstart = 22:00:00\nend = 06:00:00\nzone = "Europe/Berlin"\n'
    )
    hook, am = made_of.every
    assert (hook.name, hook.severity, hook.match.code, hook.match.principal) == ("hook", "high", ("SK*", "AN1??"), ("User:pay*",))
    assert (hook.secrets, hook.damping.after, hook.damping.quiet_ms, hook.zone) == ((SECRET,), 5, 900_000, ZoneInfo("Europe/Berlin"))
    assert (am.urls, hook.group_by, hook.max_attempts) == (("http://10.0.0.7:9093",), ("code", "severity"), 20)
    assert made_of.silences[0].receivers == ("hook",), "Alertmanager has silences of its own"
    assert made_of.silences[0].days == tuple(range(7))
    assert SECRET.decode() not in repr(made_of) and "hooks.example" not in repr(made_of)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: receiver is missing"),
        (HOOK + HOOK, ":7: receiver[2].name: there are two 'hook'"),
        (HOOK + "sevrity = 'high'\n", ":6: unknown key receiver[1].sevrity"),
        (HOOK + "severity = 'worst'\n", ":6: receiver[1].severity: Input should be 'info'"),
        (HOOK.replace("hook", "ho ok", 1), ":2: receiver[1].name: letters"),
        (HOOK.replace("webhook", "pager"), ":3: receiver[1].kind: Input should be"),
        (HOOK.replace('secrets = ["env:HOOK"]\n', ""), "receiver[1].secrets: one is needed"),
        (
            HOOK.replace('["env:HOOK"]', '["env:HOOK", "env:HOOK", "env:HOOK"]'),
            ":5: receiver[1].secrets: one is needed to sign with, or two",
        ),
        (HOOK.replace("env:HOOK", "env:SHORT"), ":5: receiver[1].secrets: env:SHORT holds no secret by Standard Webhooks"),
        (HOOK.replace("env:HOOK", "env:EMPTY"), ":5: receiver[1].secrets: the environment has no EMPTY"),
        (HOOK.replace("env:HOOK", f"whsec_{CANARY}"), ":5: receiver[1].secrets: a secret must not be written here itself"),
        (HOOK.replace("env:HOOK", "env:CLIENTSCOPE_X"), "looks like one of clientscope's own settings"),
        (HOOK.replace("env:HOOK", "file:/nonexistent"), ":5: receiver[1].secrets /nonexistent: No such file"),
        (HOOK.replace("https://hooks.example.com/x", "http://127.0.0.1/"), ":4: receiver[1].url: 127.0.0.1 is loopback or private"),
        (HOOK.replace("https://hooks.example.com/x", "file:///etc/passwd"), ":4: receiver[1].url: it is no HTTP address"),
        (HOOK + 'allow_networks = ["169.254.0.0/16"]\n', ":6: receiver[1].allow_networks: 169.254.0.0/16 is link-local"),
        (HOOK + 'allow_networks = ["10.0.0.1/8"]\n', ":6: receiver[1].allow_networks: '10.0.0.1/8' is no network"),
        (HOOK + 'ca = "/nonexistent.pem"\n', ":6: receiver[1].ca: /nonexistent.pem: no such file"),
        (HOOK + 'headers = { Host = "env:HOOK" }\n', ":6: receiver[1].headers: 'Host' is no header that may be set"),
        (HOOK + 'headers = { "a\\nb" = "env:HOOK" }\n', "is no header that may be set"),
        (
            HOOK + 'headers = { Authorization = "Bearer x" }\n',
            ":6: receiver[1].headers.Authorization: a secret must not be written here itself",
        ),
        (HOOK + 'zone = "Europe/Nowhere"\n', ":6: receiver[1].zone: 'Europe/Nowhere' is no time zone"),
        (HOOK + "max_attempts = 51\n", ":6: receiver[1].max_attempts: Input should be less than or equal to 50"),
        (HOOK + 'urls = ["https://a.example"]\n', ":6: receiver[1].urls: it has no use for kind = 'webhook'"),
        (AM + "resolved = false\n", ":6: receiver[1].resolved: it has no use for kind = 'alertmanager'"),
        (AM.replace('urls = ["http://10.0.0.7:9093"]', "urls = []"), ":4: receiver[1].urls: it is missing"),
        ('[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "slack://a/b/c"\n', ":4: receiver[1].url: Apprise's addresses hold secrets"),
        (HOOK + "[[silence]]\nreason = 'x'\n", ":6: silence[1].begins: it says no time"),
        (HOOK + "[[silence]]\nreason = 'x'\nbegins = 2026-12-24T18:00:00\n", ":8: silence[1].begins: it has no time zone"),
        (HOOK + "[[silence]]\nreason = 'x'\nstart = 22:00:00\n", "silence[1].end: what comes again needs start and end"),
        (HOOK + "[[silence]]\nreason = 'x'\nreceiver = 'hok'\n", ":8: silence[1].receiver: there is no receiver 'hok'"),
        (HOOK + AM + "[[silence]]\nreason = 'x'\nreceiver = 'am'\n", "am is an Alertmanager, which has silences of its own"),
        (HOOK + "[[silence]]\nreason='x'\nbegins=2026-01-02T00:00:00Z\nends=2026-01-01T00:00:00Z\n", ":9: silence[1].ends: it isn't after"),
        ("[[receiver]\n", "is not TOML"),
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
    assert read(tmp_path, text).every[0].secrets == (SECRET,)
    secret.write_text(f"{CANARY}\n{CANARY}\n")
    with pytest.raises(SettingsError, match="more than one line") as caught:
        read(tmp_path, text)
    assert CANARY not in str(caught.value)


def test_the_command_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "receivers.toml"
    assert command("deliver", "--receivers", str(file)) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}: No such file")
    file.write_text('[[receiver]]\nname = "c"\nkind = "apprise"\nurl = "env:NOTHING"\n')
    assert command("deliver", "--test", "--receivers", str(file)) == 2
    assert f"error: {file}:4: receiver[1].url: the environment has no NOTHING" in capsys.readouterr().err
    assert command("deliver", "dead", "replay") == 2
    assert "one of --receiver NAME, --id ID and --all is required" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("match", "finding", "fits"),
    [
        (Match(), made(), True),
        (Match(code=("AN*",)), made(), True),
        (Match(code=("an*",)), made(), False),
        (Match(code=("SK*", "AN101")), made(), True),
        (Match(principal=("User:orders",)), made(), True),
        (Match(principal=("User:bill*",)), made(), False),
        (Match(principal=("User:bill*",)), leak(), True),
        (Match(client_id=("billing",)), leak(), True),
        (Match(code=("SK*",), client_id=("nobody",)), leak(), False),
        (Match(team=("shop",)), made(), True),
        (Match(team=("shop",)), leak(), False),
        (Match(principal=("*",)), made(application=BILLING.model_copy(update={"principal": None})), False),
    ],
)
def test_which_receivers_get_a_finding(match: Match, finding: object, fits: bool) -> None:
    assert receiver(match=match).wants(finding) is fits  # type: ignore[arg-type]


def test_severity_is_this_or_worse() -> None:
    findings = [made(severity=severity) for severity in ("info", "low", "medium", "high", "critical")]
    assert [receiver(severity="high").wants(finding) for finding in findings] == [False, False, False, True, True]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        ("2026-11-20T21:59:59+01:00", False),
        ("2026-11-20T22:00:00+01:00", True),  # a Friday
        ("2026-11-21T05:59:59+01:00", True),
        ("2026-11-21T06:00:00+01:00", False),
        ("2026-11-21T22:30:00+01:00", False),
        ("2026-07-03T22:30:00+02:00", True),  # summer time
    ],
)
def test_a_window_that_comes_again(now: str, holds: bool) -> None:
    silence = Silence(Match(), "nights", days=(4,), start=time(22), end=time(6), zone=ZoneInfo("Europe/Berlin"))
    assert silence.holds("hook", made(), at(now)) is holds


def test_a_window_that_occurs_once_and_the_findings_that_it_holds() -> None:
    now = datetime.fromtimestamp(NOW_MS / 1000, UTC)
    silence = Silence(Match(code=("AN*",)), "work", ("hook",), at("2026-09-21T14:00:00+00:00"), at("2026-09-21T15:00:00+00:00"))
    assert silence.holds("hook", made(), now)
    assert not silence.holds("other", made(), now)
    assert not silence.holds("hook", leak(), now)
    assert not silence.holds("hook", made(), at("2026-09-21T15:00:00+00:00"))
    assert not silence.holds("hook", made(), at("2026-09-21T13:59:59+00:00"))
