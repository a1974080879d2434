"""Place of each setting in a file: properties, JSON and YAML, compared with the readers of ``clientscope push``."""

from __future__ import annotations

import json
import re

import pytest
from golden import is_golden
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused

from clientscope.commands.lint.placed import MAX_SETTINGS, Placed
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


JSON = """{
\t"acks": "0", "linger": {"ms": 5, "deep": {}},
  "enable.idempotence" : true, "none": null,
  "bootstrap.servers": ["a:1",
     "b:2"], "x": 1.0, "big": 1e300
}"""


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


# YAML ends lines where no editor does.
ENDS_OF_YAML = "# a\u2028# \u0085acks: 0\n\u2029client.id: x # \U0001f600\r\nlinger.ms: 5"
FILES = (
    ("properties", PROPERTIES), ("json", JSON), ("yaml", YAML), ("yaml", LISTS), ("yaml", ENDS_OF_YAML), ("yaml", f"\ufeff{ENDS_OF_YAML}"),
    *(("properties", f"a=1{end}{end}#{end}b=2{end}a=3{end}") for end in ("\n", "\r\n", "\r")),
    ("json", '{"a": 1, "a": 2}'), ("yaml", "a: 1\na: 2\n"),
)  # fmt: skip


def test_places_and_values() -> None:
    """A value's region, and the line of its setting where that is another."""
    shown = ""
    for file_format, text in FILES:
        shown += f"{text!r}\n"
        for each in read("x", text.encode(), file_format):
            at = each.region
            where = f"{at.line}:{at.column}-{at.end_line}:{at.end_column}" + f", line {each.line}" * (each.line != at.line)
            shown += f"  {each.name} = {each.value!r} at {where}{', shared' * each.shared}{', bare' * each.bare}\n"
    assert is_golden(shown, __file__, "places.txt")


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
    with refused("more than"):
        placed("a0: &a0 {x: 1}\n" + levels, "yaml")
    empty = "\n".join(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}" for n in range(1, 6))
    with refused("more than"):
        placed("a0: &a0 {}\n" + empty, "yaml")
    lists = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    assert placed("a0: &a0 [x]\n" + lists, "yaml")["a29"].value is None
    merges = "\n".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n  k{n}: 1" for n in range(1, 12))
    with refused("more than"):
        placed("a0: &a0 {x: 1}\n" + merges, "yaml")


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
        assert f"{each.name}={each.value}".encode()
        assert 1 <= each.line <= each.region.line <= each.region.end_line <= len(lines)
        assert each.region.end_column <= len(lines[each.region.end_line - 1]) + 1
