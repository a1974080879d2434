"""A credential is found wherever it stands: in settings that are no client's, in text of any format, and in logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import Document, Run
from hypothesis import given
from hypothesis import strategies as st

from clientscope.commands.lint.credentials import MOST, in_lines

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='canary-jaas-1';"

FOUND = {
    "a framework's prefix": ("bridge.properties", f"bridge.id=b\nkafka.sasl.jaas.config={JAAS}\n", [("SK001", 2)]),
    "a connector's database": (
        "connector.json", '{"config": {"connector.class": "x.MySql",\n "database.password": "canary-db-1"}}', [("SK001", 2)],
    ),
    "an application's names": ("appsettings.json", '{"Kafka": {\n"SaslPassword": "canary-Net-1"}}', [("SK001", 2)]),
    "a connection string": ("app.json", '{"ConnectionStrings": {"Db": "Server=db;User Id=sa;Password=canary-Db-1;"}}', [("SK002", 1)]),
    "values of a chart": ("values.yaml", f"kafka:\n  saslJaasConfig: \"{JAAS}\"\n  producer: {{acks: '0'}}\n", [("SK001", 2)]),
    "a file within a manifest": (
        "secret.yaml", "kind: Secret\nstringData:\n  client.properties: |\n    acks=0\n    ssl.keystore.password=canary-Key-1\n",
        [("SK001", 5)],
    ),
    "a pipeline": ("logstash.conf", f'input {{\n kafka {{\n  sasl_jaas_config => "{JAAS}"\n }}\n}}\n', [("SK001", 3)]),
    "white space between": ("fluent-bit.conf", "[OUTPUT]\n    Name kafka\n    rdkafka.sasl.password  canary-Fluent-1\n", [("SK001", 3)]),
    "TOML": ("telegraf.toml", '[[outputs.kafka]]\n  sasl_username = "u"\n  sasl_password = "canary-Tele-1"\n', [("SK001", 3)]),
    "Terraform": (
        "main.tf", f'data = {{\n  "client.properties" = <<-EOT\n    acks=0\n    sasl.jaas.config={JAAS}\n  EOT\n}}\n', [("SK001", 4)],
    ),
    "code": ("producer.py", 'conf = {\n    "acks": 0,\n    "sasl.password": "canary-Py-1",\n}\n', [("SK001", 3)]),
    "variables": ("prod.env", "KAFKA_BROKERS=b:9092\nexport SASL_PASSWORD=correcthorse\n", [("SK001", 2)]),
    "a comment": ("client.properties", f"acks=all\nlinger.ms=5\n# sasl.jaas.config={JAAS}\n", [("SK001", 3)]),
    "behind a setting": ("client.yaml", "client.id: a\nacks: all  # sasl.password=canary-c1\n", [("SK001", 2)]),
    "a private key": ("notes.txt", "the key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n", [("SK002", 2)]),
    "a token": ("ci.cfg", "[ci]\nurl = https://example.org\nuser = AKIAIOSFODNN7EXAMPLE\n", [("SK002", 3)]),
    "an address": ("x.ini", "[db]\nurl=postgres://app:canary-Url-1@db:5432/x\n", [("SK002", 2)]),
    "the same name twice": ("two.toml", 'password = "canary-1a"\n[other]\npassword = "canary-2b"\n', [("SK001", 1), ("SK001", 3)]),
    "what isn't JSON": ("template.json", '{{- if .Values.x }}\n{"ssl.key.password": "canary-Tpl-1"}\n', [("SK001", 2)]),
    "a merged configuration": (
        "app.log", "INFO Merging config with {ssl.keystore.password=canary-ks-1, acks=all, ssl.key.password=canary-kp-1}\n",
        [("SK001", 1), ("SK001", 1)],
    ),
    "JAAS in a log": ("lag.log", "INFO start\nINFO Cluster Added: KafkaCluster(db, " + JAAS + ")\n", [("SK002", 2)]),
    "a setting that nobody knows": (
        "c.log", "WARN The configuration 'sasl.password' = 'canary-Log-1' was supplied but isn't a known config.\n", [("SK001", 1)],
    ),
    "a script": (
        "compose.yaml",
        "services:\n  x:\n    command:\n      - bash\n      - |\n        kafka-configs --password canary-Sh-1\n        exit\n",
        [("SK001", 6)],
    ),
    "variables in a list, each once": (
        "compose.yaml", "services:\n  db:\n    environment:\n      - POSTGRES_USER=app\n      - POSTGRES_PASSWORD=canary-Pg-1\n",
        [("SK001", 5)],
    ),
    "a private key in a block": (
        "values.yaml", "tls:\n  privkey: |-\n    -----BEGIN RSA PRIVATE KEY-----\n    MIIE\n    -----END RSA PRIVATE KEY-----\n",
        [("SK002", 3)],
    ),
    "TOML in a file of settings": (
        "telegraf.conf", '[[outputs.kafka]]\n  sasl_password = "canary-Tele-1" # required\n[[inputs.x]]\n  token = "" # required\n',
        [("SK001", 2)],
    ),
    "what isn't YAML for our reader": (
        "compose.yaml", "a: &x 1\nb: &x 2\nenvironment:\n  DB_USER: orders\n  DB_PASSWORD: correcthorse\n", [("SK001", 5)],
    ),
    "a dollar within": ("app.json", '{"db.password": "my$3canary"}', [("SK001", 1)]),
    "an address behind what is filled in": ("x.txt", "password=${P} servers=root:canary-Dsn-1@tcp(db:3306)/\n", [("SK002", 1)]),
}  # fmt: skip

QUIET = {
    "placeholders": ("a.toml", 'password = "${KAFKA_PASSWORD}"\ntoken = "{{ .Values.token }}"\nsecret = "<your secret>"\npwd = "$PWD_1"\n'),
    "samples": ("b.toml", 'password = "changeme"\nsasl_password = "your-password"\napi_key = "xxxx"\n'),
    "code that reads it": (
        "c.py", 'password = os.environ["KAFKA_PASSWORD"]\ntoken = get_token()\nsecret = settings.secret\nPASSWORD = "SASL_PASSWORD"\n',
    ),
    "names of secrets": (
        "d.yaml",
        "spec:\n  secretName: orders-tls\n  env:\n  - name: X\n    valueFrom:\n      secretKeyRef: {name: kafka, key: password}\n"
        "  passwordSecret: {secretName: a, password: jaas.conf}\n  automountServiceAccountToken: false\n",
    ),
    "files of secrets": ("e.ini", "ssl_key_file=/etc/ssl/key.pem\npassword_file = /run/secrets/x\nkeystore.location=/etc/k.jks\n"),
    "prose": ("f.md", "Passwords: set them by the environment.\nThe token `x` is a secret, and the key is at https://example.org/keys.\n"),
    "what a proxy is called": ("g.conf", "location / {\n  proxy_pass http://app:8080;\n}\n"),
    "Kafka's api keys": ("h.txt", '{"requestApiKey":18,"apiKey": 1324}\n'),
    "what was taken out": ("i.txt", "sasl.jaas.config = [hidden]\nssl.key.password=‹redacted, 5 bytes›\npassword=********\n"),
    "what a schema says of them": (
        "crd.yaml",
        "properties:\n  passwordSecret:\n    type: object\n    description: Reference to the `Secret` which holds the password.\n"
        "    properties:\n      secretName: {description: The name of the Secret., type: string}\n"
        "      metadata: {description: Labels that the operator adds., maxProperties: 12}\n",
    ),
    "names of secrets in a chart": (
        "values.yaml",
        "secret:\n  existingSecret: orders-kafka\n  keyName:\n    kafka-sasl-password: kafka-sasl-password\n"
        "http: {tlsSecret: orders-tls}\ndb: {usernameSecret: {name: db, key: username}}\n"
        "volumes:\n- secret:\n    items:\n    - key: ORDERS_CREDENTIALS\n      path: a.json\n",
    ),
    "a script without one": (
        "ci.yml",
        "build:\n  - ps: |\n      cmake -D A_CREDENTIALS=On `\n        -D B=On\n      echo \"x: y\", \"mail\": \"me@example.org\"\n",
    ),
    "a document in a document": (
        "record.yaml", 'value:\n  data: |\n    {"name": "Jo Doe",\n     "mail": "jo@example.org", "next": 1}\n',
    ),
    "counters": ("stats.json", '{"s_pass": {"description": "Passed requests", "flag": "c", "value": 37}}'),
    "an empty default": ("application.yml", "server:\n  ssl:\n    key-store-password: ${KEY_STORE_PASSWORD:}\n    x: ${Y:-}\n"),
    "names of variables": (
        "compose.yml",
        "x:\n  SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO: 'SR_API_KEY:SR_API_SECRET'\n  db.password: _ADMIN_PASS_\n"
        "  SASL_JAAS_CONFIG: 'x.PlainLoginModule required username=\"CLOUD_USER\" password=\"CLOUD_PASSWORD\";'\n",
    ),
    "paths of secrets": ("telegraf.conf", '[[inputs.x]]\n  bearer_token = "/path/to/file"\n  key_password = "changeme"  # of the key\n'),
    "words to replace": ("app.yml", "jwt:\n  secret: pleasechangeme!pleasechangeme\n  password: passw0rd\n  token: invalidAuthToken\n"),
    "a package's version": ("package.json", '{"dependencies": {"basic-auth": "^2.0.1", "token": ">=3"}}'),
    "a program's name": ("pyproject.toml", '[project.scripts]\norders_mkpasswd = "orders.auth:main"\n'),
    "a client's own": ("j.properties", "acks=all\nclient.id=orders\n# set the password by a config provider\n"),
}  # fmt: skip


def lines(name: str) -> list[str]:
    return (Path(__file__).parent / "cases" / f"{name}.txt").read_text().splitlines()[1:]


def leaks(report: object) -> list[tuple[str, int]]:
    return [(each["code"], each["line"]) for each in report["findings"] if each["code"].startswith("SK")]  # type: ignore[index]


@pytest.mark.parametrize(("name", "text", "expected"), FOUND.values(), ids=FOUND)
def test_a_credential_is_found_with_its_line_and_never_shown(
    lint: Document, run: Run, tmp_path: Path, name: str, text: str, expected: list[tuple[str, int]]
) -> None:
    assert leaks(lint(name, text)) == expected
    for form in ("full", "concise", "json", "sarif", "github"):
        said = run(str(tmp_path / name), "--output-format", form, "--fail-on", "critical")
        assert said.status == 1
        assert "canary" not in said.out + said.err and "correcthorse" not in said.out


@pytest.mark.parametrize("line", lines("credentials"))
def test_a_line_that_has_one(line: str) -> None:
    assert [(each.value, line[each.region.column - 1 : each.region.end_column - 1]) for each in in_lines([line])] == [
        ("canary-9x", "canary-9x")
    ]


@pytest.mark.parametrize("line", lines("no_credentials"))
def test_a_line_that_has_none(line: str) -> None:
    assert in_lines([line]) == []


def test_a_reason_with_a_credential_is_not_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("# clientscope: ignore[AN306] password=canary-9x\nacks=all\nclient.id=\n")
    assert "canary" not in run(str(tmp_path / "a.properties")).out


@pytest.mark.parametrize(("name", "text"), QUIET.values(), ids=QUIET)
def test_what_is_no_credential_stays_quiet(lint: Document, name: str, text: str) -> None:
    assert leaks(lint(name, text)) == []


def test_it_says_why_nothing_else_is_judged(lint: Document) -> None:
    (file,) = lint("telegraf.toml", 'sasl_password = "canary-Tele-1"\n')["files"]
    assert [each["text"] for each in file["notes"]] == ["only credentials are judged here: no format that is known explains its settings"]
    (file,) = lint("plain.toml", "acks = 0\n")["files"]
    assert file["skipped"].startswith("no format that is known")


def test_what_is_no_text_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "key.jks").write_bytes(b"\xfe\xed\0\0password=canary")
    (tmp_path / "client.properties").write_bytes("sasl.password=canary-16\n".encode("utf-16"))
    for name in ("key.jks", "client.properties"):
        said = run(str(tmp_path / name))
        assert said.status == 2 and "is not a text file" in said.err


def test_a_flood_of_them_is_bounded() -> None:
    assert len(in_lines(['password = "canary-1"'] * 3 * MOST)) == MOST
    assert len(in_lines(["password='canary-1' " * 100_000])) <= MOST


@given(st.lists(st.text(max_size=200), max_size=5))
def test_no_text_breaks_it(lines: list[str]) -> None:
    for each in in_lines(lines):
        assert lines[each.line - 1][each.region.column - 1 : each.region.end_column - 1] == each.value
