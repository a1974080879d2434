"""Escaping of text that clients chose, for chats, mails and templates: no mentions, links or formatting."""

from __future__ import annotations

import html

from clientscope.topic_values import clean

_LOOKALIKES = str.maketrans(
    {"<": "‹", ">": "›", "&": "＆", "@": "＠", "`": "ˋ", "*": "∗", "[": "［", "]": "］", "|": "¦", "{": "❴", "}": "❵", "$": "＄", "~": "∼"}
)


def inert(text: str | None, length: int = 256) -> str:
    """The text with what has a meaning in Slack, Markdown, HTML or Go templates replaced by what looks like it; one line."""
    cleaned = clean(text or "", length).translate(_LOOKALIKES)
    return cleaned.replace("://", ":∕∕").replace("www.", "www․").strip()


def escaped_length(text: str) -> int:
    """Characters once ``&``, ``<`` and ``>`` are escaped, as Slack counts."""
    return len(html.escape(text, quote=False))


def fitted(lines: list[str], most: int) -> str:
    """The lines as one text of at most ``most`` characters once escaped; the longest lines give way."""
    kept = list(lines)
    while (excess := escaped_length("\n".join(kept)) - most) > 0:
        index = max(range(len(kept)), key=lambda number: len(kept[number]))
        line = kept[index]
        kept[index] = line[: max(0, len(line) - max(excess // 5, 2) - 1)] + "…"
        if len(line) <= 2:
            kept.pop(index)
    return "\n".join(kept)
