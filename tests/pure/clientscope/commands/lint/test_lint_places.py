"""Place of each setting in a file: properties, JSON and YAML, compared with the readers of ``clientscope push``."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clientscope.commands.lint.placed import MAX_SETTINGS, Placed, Region
from clientscope.commands.lint.places import read
from clientscope.errors import SettingsError


def placed(text: str | bytes, file_format: str) -> dict[str, Placed]:
    content = text.encode() if isinstance(text, str) else text
    return {each.name: each for each in read("x", content, file_format)}


PROPERTIES = r"""# acks=0
acks=1
  linger.ms : 20
client.id caf\u00e9
bootstrap.servers = a:1,\
                    b:2
odd\:key\ =v
empty
spread \
  = out
last=é x"""


def test_properties() -> None:
    found = placed(PROPERTIES, "properties")
    assert {name: each.value for name, each in found.items()} == {
        "acks": "1",
        "linger.ms": "20",
        "client.id": "café",
        "bootstrap.servers": "a:1,b:2",
        "odd:key ": "v",
        "empty": "",
        "spread": "out",
        "last": "Ã© x",
    }
    assert {name: each.region for name, each in found.items()} == {
        "acks": Region(2, 6, 2, 7),
        "linger.ms": Region(3, 15, 3, 17),
        "client.id": Region(4, 11, 4, 20),
        "bootstrap.servers": Region(5, 21, 6, 24),
        "odd:key ": Region(7, 12, 7, 13),
        "empty": Region(8, 6, 8, 6),
        "spread": Region(10, 5, 10, 8),
        "last": Region(11, 6, 11, 9),
    }
    assert found["linger.ms"].source == "linger.ms : 20"
    assert found["last"].source == "last=é x", "as an editor shows it, though Java reads ISO-8859-1"
    assert found["spread"].line == 9


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_repeated_names(end: str) -> None:
    found = read("x", f"a=1{end}{end}#{end}b=2{end}a=3{end}".encode(), "properties")
    assert [(each.name, each.value, each.region) for each in found] == [
        ("a", "1", Region(1, 3, 1, 4)), ("b", "2", Region(4, 3, 4, 4)), ("a", "3", Region(5, 3, 5, 4)),
    ]  # fmt: skip
    for text, file_format in (('{"a": 1, "a": 2}', "json"), ("a: 1\na: 2\n", "yaml")):
        assert [each.value for each in read("x", text.encode(), file_format)] == ["1", "2"]


JSON = """{
\t"acks": "0", "linger": {"ms": 5, "deep": {}},
  "enable.idempotence" : true, "none": null,
  "bootstrap.servers": ["a:1",
     "b:2"], "x": 1.0, "big": 1e300
}"""


def test_json() -> None:
    found = placed(JSON, "json")
    assert {name: each.value for name, each in found.items()} == {
        "acks": "0", "linger.ms": "5", "enable.idempotence": "true", "bootstrap.servers": "a:1,b:2", "x": "1", "big": str(int(1e300)),
    }  # fmt: skip
    assert found["acks"].region == Region(2, 10, 2, 13)
    assert found["linger.ms"].region == Region(2, 32, 2, 33)
    assert found["bootstrap.servers"].region == Region(4, 24, 5, 12)
    assert found["enable.idempotence"].source == '"enable.idempotence" : true'


YAML = """\
shared: &shared {linger.ms: 5, acks: 1}
producer:
  <<: *shared
  acks: 0   # a comment
  enable.idempotence: yes
  none:
list: [a, 'b']
block:
  - c
  - d: e
text: |
  one
  two
date: 2020-01-01
"""


def test_yaml() -> None:
    found = placed(YAML, "yaml")
    assert {name: each.value for name, each in found.items()} == {
        "shared.linger.ms": "5", "shared.acks": "1", "producer.linger.ms": "5", "producer.acks": "0",
        "producer.enable.idempotence": "true", "list": "a,b", "block": None, "block[1].d": "e", "text": "one\ntwo\n", "date": "2020-01-01",
    }  # fmt: skip
    assert found["producer.acks"].region == Region(4, 9, 4, 10)
    assert found["producer.acks"].source == "acks: 0", "without the comment, which might hold anything"
    assert found["producer.linger.ms"].shared
    assert found["list"].region == Region(7, 7, 7, 15)


LISTS = """\
services:
  connect:
    environment:
      - CONNECT_PRODUCER_ACKS=all
      - "CONNECT_GROUP_ID=a=b"
      - not a variable
env:
  - name: ACKS
    value: "1"   # a comment
  - name: SECRET
    valueFrom: {secretKeyRef: {name: x, key: y}}
mirrors:
  - config: {a.b: 5}
---
# a second document
- 1
---
spec: {c: d}
"""


def test_lists_and_documents_of_yaml() -> None:
    found = placed(LISTS, "yaml")
    shown = {name: each.value for name, each in found.items() if each.value is not None}
    assert shown == {
        "services.connect.environment": "CONNECT_PRODUCER_ACKS=all,CONNECT_GROUP_ID=a=b,not a variable",
        "services.connect.environment.CONNECT_PRODUCER_ACKS": "all", "services.connect.environment.CONNECT_GROUP_ID": "a=b",
        "env.ACKS": "1", "env[1].name": "SECRET", "env[1].valueFrom.secretKeyRef.name": "x", "env[1].valueFrom.secretKeyRef.key": "y",
        "mirrors[0].config.a.b": "5", "[2].spec.c": "d",
    }  # fmt: skip
    acks = found["services.connect.environment.CONNECT_PRODUCER_ACKS"]
    assert (acks.region, acks.source) == (Region(4, 31, 4, 34), "CONNECT_PRODUCER_ACKS=all")
    group = found["services.connect.environment.CONNECT_GROUP_ID"]
    assert (group.region, group.source) == (Region(5, 27, 5, 30), "CONNECT_GROUP_ID=a=b")
    assert (found["env.ACKS"].line, found["env.ACKS"].region) == (9, Region(9, 12, 9, 15))
    assert found["[2].spec.c"].region == Region(18, 11, 18, 12)


@pytest.mark.parametrize(
    ("text", "file_format", "message"),
    [
        ("a=\\u12", "properties", "x is not a Java properties file: it has a \\u"),
        ("a=\\\n" * 10 + "\\\n" * 100_000, "properties", "a setting has more than 1000 lines"),
        ('{"a": ' + "1" * 5_000 + "}", "json", "a number of too many digits"),
        ('{"acks": hunter2}', "json", "x is not JSON: line 1, column 10"),
        ("[" * 100_000, "json", "too many levels"),
        ('{"a":' * 500 + "1" + "}" * 500, "json", "too many levels"),
        ("a: [hunter2", "yaml", "x is not YAML: line"),
        ("a: " + "[" * 100_000, "yaml", "too many levels"),
        ("\n".join(" " * level + "a:" for level in range(900)), "yaml", "too many levels"),
        ("---\n" * 100_000, "yaml", f"more than {MAX_SETTINGS} settings"),
        (
            "a: &a {}\nb: &b {<<: [" + "*a," * 50_000 + "]}\nc: {<<: [" + "*b," * 50_000 + "]}\n",
            "yaml",
            f"more than {MAX_SETTINGS} settings",
        ),
        ("a: &a [" + "{}," * 5_000 + "]\nb: [" + "{c: *a}," * 5_000 + "]\n", "yaml", f"more than {MAX_SETTINGS} settings"),
        ("a: &a " + "x" * 500_000 + "\n" + "".join(f"b{n}: *a\n" for n in range(50)), "yaml", "more than 4194304 characters"),
        ("? " + "n" * 500_000 + "\n: {" + "".join(f"b{n}: 1, " for n in range(50)) + "}\n", "yaml", "more than 4194304 characters"),
        (json.dumps({"n" * 500_000: {f"b{n}": 1 for n in range(50)}}), "json", "more than 4194304 characters"),
        ("a: !!python/name:hunter2 ''\n", "yaml", "x is not YAML"),
        ("a: 9999-99-99\n", "yaml", "it can't be parsed"),
        ("a: &x {b: *x}\n", "yaml", "too many"),
        ("\n".join(f"k{n}=" for n in range(MAX_SETTINGS + 1)), "properties", f"more than {MAX_SETTINGS} settings"),
        (b"a: \xff\n", "yaml", "x is not YAML"),
    ],
)
def test_what_is_wrong_is_said_by_its_line_and_never_quoted(text: str | bytes, file_format: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        placed(text, file_format)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_aliases_cannot_grow_without_bound() -> None:
    levels = "\n".join(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}" for n in range(1, 12))
    with pytest.raises(SettingsError, match="more than"):
        placed("a0: &a0 {x: 1}\n" + levels, "yaml")
    empty = "\n".join(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}" for n in range(1, 6))
    with pytest.raises(SettingsError, match="more than"):
        placed("a0: &a0 {}\n" + empty, "yaml")
    lists = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    assert placed("a0: &a0 [x]\n" + lists, "yaml")["a29"].value is None
    merges = "\n".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n  k{n}: 1" for n in range(1, 12))
    with pytest.raises(SettingsError, match="more than"):
        placed("a0: &a0 {x: 1}\n" + merges, "yaml")


ENDS_OF_YAML = "# a\u2028# \u0085acks: 0\n\u2029client.id: x # \U0001f600\r\nlinger.ms: 5"


def test_lines_are_an_editors() -> None:
    """YAML ends lines where no editor does."""
    found = placed(ENDS_OF_YAML, "yaml")
    assert {name: (each.line, each.region) for name, each in found.items()} == {
        "acks": (1, Region(1, 14, 1, 15)), "client.id": (2, Region(2, 13, 2, 14)), "linger.ms": (3, Region(3, 12, 3, 13)),
    }  # fmt: skip
    assert placed(b"\xef\xbb\xbf" + ENDS_OF_YAML.encode(), "yaml") == found


hostile = st.lists(
    st.sampled_from([
        "a", "acks", ":", " ", "=", "\n", "\r", "\u2028", "\x85", "\\", "\\ud800", '"', "'", "{", "}", "[", "]", ",", "-", "- ", "|", ">",
        "&a", "*a", "<<", "!!int", "#", "9" * 5_000, "0x" + "f" * 5_000, "1:2", "1e999", ".inf", "\U0001f600", "\t", "---\n",
        "null", "true", "- A=b\n", "- name: A\n  value: b\n",
    ]),
    max_size=30,
).map("".join)  # fmt: skip


@example('{"a": "\\ud800"}', "json")
@example("client.id=\\ud800x\n\\ud801=3\n", "properties")
@given(hostile, st.sampled_from(["properties", "json", "yaml"]))
def test_whatever_is_in_a_file_has_its_place_or_is_refused(text: str, file_format: str) -> None:
    try:
        found = read("x", text.encode(), file_format)
    except SettingsError:
        return
    lines = re.split(r"\r\n|\r|\n", text)
    for each in found:
        assert f"{each.name}{each.value}{each.source}".encode()
        assert 1 <= each.line <= each.region.line <= each.region.end_line <= len(lines)
        assert each.region.end_column <= len(lines[each.region.end_line - 1]) + 1
