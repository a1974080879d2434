"""Untrusted files: no secret in any output, no control character, no command for a workflow's runner."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from backtracking import steps
from command_runs import Run
from every import every

from clientscope.commands.lint import blocks, credentials, places

FORMATS = ("full", "concise", "json", "sarif", "github")
CANARY = "c4n4ry"
PEM = f"-----BEGIN PRIVATE KEY-----\\n{CANARY}\\n-----END PRIVATE KEY-----"
JWT = f"eyJhbGciOiJI{CANARY}.eyJzdWIiOiIx{CANARY}.{CANARY}"
SECRETS = {
    "sasl.jaas.config": f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{CANARY}";',
    "ssl.key.password": CANARY,
    "ssl.keystore.key": PEM,
    "sasl_plain_password": CANARY,
    "basic.auth.user.info": f"me:{CANARY}",
    "my.api.key": CANARY,
    "client.id": f"password={CANARY}",
    "group.id": JWT,
    "transactional.id": f"https://me:{CANARY}@example.com/",
    "client.rack": "AKIA" + CANARY.upper().ljust(16, "X")[:16],
    "acks": f"0 password={CANARY}",
    f"token={CANARY}": "x",
    "spring.kafka.properties.sasl.jaas.config": f"password={CANARY}",
}


def properties(settings: dict[str, str]) -> str:
    return "".join(re.sub("([=: ])", r"\\\1", name) + f"={value}\n" for name, value in settings.items())


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("dialect", ["java", "librdkafka", "kafka-python"])
def test_no_secret_is_ever_shown(run: Run, output_format: str, dialect: str) -> None:
    Path("a.properties").write_text(properties(SECRETS))
    Path("b.json").write_text(json.dumps({**SECRETS, "batch.size": "1", "linger.ms": 0}))
    Path("c.yaml").write_text("".join(f"{json.dumps(name)}: {json.dumps(value)}  # {CANARY}\n" for name, value in SECRETS.items()))
    Path("d.properties").write_text(properties(SECRETS) + properties(SECRETS) + f"# {CANARY}\nacks=0\nlinger.ms=0\n")
    Path("e.json").write_text(f'{{"acks": {CANARY}')
    Path("f.yaml").write_text(f"acks: [{CANARY}\n")
    Path("g.properties").write_text(f"-----BEGIN PRIVATE KEY-----\npassword:{CANARY}\n\\u{CANARY}\n")
    names = [f"{name}" for name in sorted(path.name for path in Path().iterdir())]
    status, out, err = run(*names, "--output-format", output_format, "--statistics", "--dialect", dialect)
    assert status == 2, "some of them can't be read"
    assert "SK001" in out
    assert CANARY.lower() not in (out + err).lower()


ODD = {
    "linger.ms": f"5 secret {CANARY}",
    "batch.size": f"{CANARY}pw",
    "acks": f"{CANARY}pw",
    "compression.type": f"gzip {CANARY}",
    "enable.idempotence": CANARY,
    "group.protocol": f"{CANARY}pw",
    "heartbeat.interval.ms": "30000",
    "session.timeout.ms": "30000",
    "group.id": "a",
    "my.own": f"secret {CANARY}",
    "sasl.login.refresh.window.factor": CANARY,
}
"""Values in place of numbers and words, of which one may be a secret."""


@pytest.mark.parametrize("output_format", FORMATS)
def test_text_in_place_of_a_number_or_a_word_is_not_quoted(run: Run, output_format: str) -> None:
    # A separator that was forgotten makes the whole line a name.
    forgotten = f"password{CANARY}\nlinger.ms{CANARY}\nlinger.ms{CANARY}\npassword {CANARY}\n"
    Path("a.properties").write_text(properties(ODD) + forgotten)
    Path("b.yaml").write_text("".join(f"{name}: {value}\n" for name, value in ODD.items()))
    Path("c.json").write_text(json.dumps(ODD))
    _, out, err = run("a.properties", "b.yaml", "c.json", "--output-format", output_format, "--statistics")
    assert {"AN201", "AN311", "CF101", "CF103", "SK001"} <= set(re.findall(r"\b[A-Z]{2}\d{3}\b", out))
    assert CANARY not in out + err


HOSTILE = {
    "client.id": "x\\n::error file=a::pwned\\r\\n##[error]pwned\\u001b[31mred\\u0007\\u202e",
    "acks": "0",
    "group.id": "%0A::warning::pwned",
    "x\\n::error::pwned": "y",
    "sasl.password": "\\n::error::pwned",
}


@pytest.mark.parametrize("output_format", FORMATS)
def test_nothing_in_a_file_reaches_the_terminal_or_the_runner(run: Run, output_format: str) -> None:
    folder = Path("##[error]pwned\n::error::pwned,line=1:\x1b[31m%0A")
    folder.mkdir()
    (folder / "a.properties").write_text("".join(f"{name}={value}\n" for name, value in HOSTILE.items()) + "acks=0\n")
    (folder / "b.json").write_text("{")
    Path("owners.toml").write_text('[[owner]]\nteam = "\\n::error::pwned"\ncontact = "\\u001b[31m"\nprincipal = "*"\n')
    flags = ["--output-format", output_format, "--owners", "owners.toml", "--principal", "x"]
    _, out, err = run(str(folder), str(folder / "b.json"), *flags)
    assert "\x1b" not in out + err
    assert not [line for line in (out + err).splitlines() if not line.startswith("::") and re.match(r"\s*::", line)]
    if output_format == "github":
        lines = out.splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("::stop-commands::"))
        token = lines[start].removeprefix("::stop-commands::")
        assert re.fullmatch("[0-9a-f]{32}", token)
        stop = lines.index(f"::{token}::")
        seen = [as_the_runner_reads_it(line) for line in lines[:start]]
        assert {"error", "notice"} <= {command for command, _, _ in seen} <= {"error", "warning", "notice"}
        files = {properties["file"] for _, properties, _ in seen if "file" in properties}
        assert files == {"##[error]pwned�::error::pwned,line=1:�[31m%0A/a.properties"}
        assert all(re.fullmatch(r"[0-9]+", properties["line"]) for properties in every(of for _, of, _ in seen if "file" in of))
        assert all(re.fullmatch(r"[A-Z]{2}[0-9]{3} \w+ \(\w+\)|clientscope lint", properties["title"]) for _, properties, _ in every(seen))
        assert not [data for _, _, data in seen if "\n" in data or "\r" in data]
        assert stop == len(lines) - 2
    else:
        assert not [line for line in out.splitlines() if line.startswith("::")]


def as_the_runner_reads_it(line: str) -> tuple[str, dict[str, str], str]:
    """actions/runner, ActionCommand.TryParseV2: command, properties, data."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    command, _, written = head.partition(" ")
    unescaped = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}

    def unescape(text: str, tokens: tuple[str, ...]) -> str:
        for token in tokens:
            text = text.replace(token, unescaped[token])
        return text

    pairs = [pair.split("=", 1) for pair in written.split(",") if pair]
    properties = {pair[0]: unescape(pair[1], tuple(unescaped)) for pair in pairs if len(pair) == 2}
    return command, properties, unescape(data, ("%0D", "%0A", "%25"))


def test_a_file_of_unknown_names_hides_no_other_files_mistake(run: Run) -> None:
    Path("a.properties").write_text("acks=all\n" + "".join(f"orders.name{number}=1\n" for number in range(3_000)))
    Path("b.properties").write_text("acks=all\nlinger.msec=5\n")
    found = json.loads(run(".", "--output-format", "json")[1])["findings"]
    unknown = [finding for finding in found if finding["code"] == "CF101"]
    assert len(unknown) == 3_001
    (mistake,) = (finding for finding in unknown if finding["path"] == "b.properties")
    assert (mistake["severity"], mistake["settings"][0]["note"]) == ("medium", "did you mean linger.ms?")
    assert [finding["severity"] for finding in unknown].count("info") == 3_000
    notes = [finding["settings"][0]["note"] for finding in unknown]
    assert notes.count("not looked up: more than 1,024 names are unknown") == 3_000 - 1_024, "so many of each file"


@pytest.mark.parametrize(
    "piece",
    [
        "ab",
        "a_",
        "a.b-",
        "foo_bar_",
        "password.",
        "QUJD",
        "a1",
        "<a name=",
        "name=a,",
        "name: a ",
        'plain, "a", ',
        "f('a', ",
        "--pw ",
        "<a ",
    ],
)
def test_a_line_that_never_ends_takes_few_steps_for_each_character(piece: str) -> None:
    """Files of 64 MiB are searched; by some 1,700 steps a character one would take minutes."""
    text = (piece * 1_000)[:1_000]
    for pattern in (credentials._KEY, credentials._RUN, *credentials._APART):
        assert steps(pattern.pattern, text) <= 100 * len(text)
    end = text[: credentials._LONGEST_NAME]
    for pattern in (credentials._TEXT_FOLLOWS, credentials._VALUE_FOLLOWS):
        assert steps(pattern.pattern, end) <= 100 * len(end)


@pytest.mark.parametrize("piece", ['\\"', '"', "\\", ", ", ",", "//", "// "])
def test_a_text_that_nothing_ends_takes_few_steps_for_each_character(piece: str) -> None:
    text = ('"' + piece * 600)[:600]
    for pattern in (places._COMMENT.pattern, places._LAST_COMMA.pattern, f"(?x){blocks._TOKEN.pattern}"):
        taken = left = 0
        while left < len(text):
            taken += steps(pattern, text[left:])
            found = re.search(pattern, text[left:])
            left = left + found.end() if found else len(text)
        assert taken <= 100 * len(text)
