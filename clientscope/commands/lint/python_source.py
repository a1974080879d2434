"""Settings of Kafka clients in Python's source: literals in calls that make a client, and in the dicts that such calls are given.

A setting's name has its client's class before it (``python.KafkaProducer.acks``), and a number where there are several. A dict with
addresses that no such call is given is a client, too. Source that can't be parsed has no settings, and is searched for credentials like any
other text.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from clientscope.commands.lint.placed import LineStarts, Placed, Region, as_seen, as_text

MAX_BYTES = 256 << 10
"""Of source that is parsed: its tree takes up to 450 times as much memory."""

_CLIENTS = ("Producer", "Consumer", "AdminClient")
"""How the names of their classes end, in confluent-kafka, kafka-python and aiokafka."""
_DICTS = {"bootstrap.servers": "Client", "bootstrap_servers": "KafkaClient"}
"""By the name that shows whose settings a dict has."""

_Pair = tuple[str, int, ast.expr]
"""A setting's name, its line (of a keyword, that of its value), and its value."""


def python_settings(content: bytes) -> Iterator[Placed]:
    """The settings in the file, client by client.

    Raises:
        UnicodeDecodeError: it isn't UTF-8.
    """
    text = content.decode("utf-8-sig")
    if len(content) > MAX_BYTES:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in strings that aren't ours
            nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = LineStarts(text.encode().decode("iso-8859-1"))
    for number, (client, pairs) in enumerate(_clients(nodes)):
        prefix = f"[{number}].python.{client}." if number else f"python.{client}."
        for name, line, value in pairs:
            yield Placed(prefix + name, _literal(value), _region(lines, value), line)


def _clients(nodes: list[ast.AST]) -> Iterator[tuple[str, list[_Pair]]]:
    assigned = {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    taken: set[ast.AST] = set()
    for node in nodes:
        name = _name(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name.endswith(_CLIENTS):
            given = [*node.args, *(each.value for each in node.keywords if each.arg is None)]  # conf, and **conf
            dicts = [of for each in given if (of := assigned.get(each.id) if isinstance(each, ast.Name) else each)]
            taken |= set(dicts)
            keywords = [(each.arg, each.value.lineno, each.value) for each in node.keywords if each.arg is not None]
            yield name, [*(pair for of in dicts for pair in _pairs(of)), *keywords]
    for node in nodes:
        if isinstance(node, ast.Dict) and node not in taken:
            pairs = _pairs(node)
            if client := next((_DICTS[name] for name, _, _ in pairs if name in _DICTS), ""):
                yield client, pairs


def _pairs(node: ast.expr) -> list[_Pair]:
    if not isinstance(node, ast.Dict):
        return []
    items = zip(node.keys, node.values, strict=True)
    return [(key.value, key.lineno, value) for key, value in items if isinstance(key, ast.Constant) and isinstance(key.value, str)]


def _name(function: ast.expr) -> str:
    """The last name of what is called."""
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _region(lines: LineStarts, node: ast.expr) -> Region:
    """Its place; ``ast`` counts columns in bytes of UTF-8, from 0."""
    assert node.end_lineno is not None and node.end_col_offset is not None, "of parsed source"
    return as_seen(lines, Region(node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1))


def _literal(node: ast.expr) -> str | None:
    """None for what is computed."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return as_text(list(value) if isinstance(value, tuple) else value)
