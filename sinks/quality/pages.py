"""HTML pages of other renderers, without external parts: no script, frame, style sheet, image or external link."""

from __future__ import annotations

import html
import posixpath
import re
from html.parser import HTMLParser

INDEX = "index.html"

_DROPPED = frozenset({"script", "iframe", "object", "embed", "form", "input", "button", "label", "footer", "noscript", "svg", "img"})
_DROPPED_VOID = frozenset({"link", "base", "input", "img", "embed"})
_VOID = frozenset({"area", "br", "col", "hr", "meta", "source", "track", "wbr"})
_KEPT_ATTRIBUTES = frozenset({"class", "id", "href", "colspan", "rowspan", "hidden", "charset", "name", "content", "scope"})
_BODY = re.compile("<body[^>]*>")
_LOADED = re.compile(r"@import[^;]*;|url\([^)]*\)")
"""Parts of a style sheet that a browser would load."""

BACK = '<p class="back"><a href="../">Back to clientscope</a></p>'
"""As the live page serves these pages in a folder beside it."""

_EXPECTATIONS = re.compile(r".*/expectations/(.+)\.html")


def without_elsewhere(page: str) -> str:
    """The page in English, with only its text, structure, classes and inline style sheets, and a link back to clientscope's page.

    Links within the page stay, as do those to the list and to suites; what else a link says goes.
    """
    cleaner = _Cleaner()
    cleaner.feed(page)
    cleaner.close()
    return _BODY.sub(lambda body: body[0] + BACK, "".join(cleaner.out), count=1)


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = ["<!doctype html>"]
        self._within: list[str] = []  # what is left out, and is still open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED_VOID:
            return
        if self._within or tag in _DROPPED:
            if tag not in _VOID:
                self._within.append(tag)
            return
        if tag == "html":  # its own language isn't always said
            self.out.append('<html lang="en">')
            return
        kept = "".join(f' {name}="{html.escape(value)}"' for name, value in map(_attribute, attrs) if value is not None)
        self.out.append(f"<{tag}{kept}>")

    def handle_endtag(self, tag: str) -> None:
        if self._within:
            if tag in self._within:
                while self._within.pop() != tag:
                    pass
            return
        if tag not in _DROPPED | _DROPPED_VOID | _VOID:
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._within:
            return
        if self.cdata_elem == "style":
            self.out.append(_LOADED.sub("", data))  # a style sheet has no entities
        else:
            self.out.append(html.escape(data, quote=False) if data.strip() else data[:1])


def _attribute(pair: tuple[str, str | None]) -> tuple[str, str | None]:
    name, value = pair[0], pair[1] or ""
    if name not in _KEPT_ATTRIBUTES:
        return name, None
    return name, _link(value) if name == "href" else value


def _link(target: str) -> str | None:
    if target.startswith("#"):
        return target
    if ":" in target or target.startswith("//"):
        return None
    if match := _EXPECTATIONS.fullmatch(target):
        return f"{match[1].replace('/', '.')}.html"
    return INDEX if posixpath.basename(target) == INDEX else None
