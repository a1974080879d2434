"""HTML pages of Data Docs: what another renderer says, without external parts: no script, frame, style sheet, image or external link."""

from __future__ import annotations

import posixpath
import re

import nh3

INDEX = "index.html"

_DROPPED = {"script", "style", "title", "iframe", "object", "form", "button", "label", "footer", "noscript", "svg"}
"""Elements that go with all that is in them."""

_ATTRIBUTES = {"*": {"class", "id", "colspan", "rowspan", "hidden", "scope"}, "a": {"href"}}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430; }
h1, h2, h3, h4, h5 { line-height: 1.2; }
table { border-collapse: collapse; margin: .5rem 0; }
td, th { border: 1px solid #d5dae1; padding: .25rem .6rem; text-align: left; vertical-align: top; }
.badge { background: #eef1f5; border-radius: 4px; padding: 0 .4rem; }
"""

_BACK = '<p class="back"><a href="../">Back to clientscope</a></p>'
"""As the live page serves these pages in a folder beside it."""

_EXPECTATIONS = re.compile(r"[\w./-]*/expectations/([\w./-]+)\.html", re.ASCII)


def page(title: str, body: str) -> str:
    """A page in English, with a link back to clientscope's own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>{_BACK}{body}</body></html>"
    )


def without_elsewhere(rendered: str) -> str:
    """A rendered page's text, structure and classes, as the body of another.

    Links within the page stay, as do those to the list and to suites; what else a link says goes.
    """
    return nh3.clean(
        rendered,
        tags=nh3.ALLOWED_TAGS - _DROPPED - {"img", "area", "map"},
        clean_content_tags=_DROPPED,
        attributes=_ATTRIBUTES,
        attribute_filter=lambda tag, name, value: _link(value) if name == "href" else value,
        link_rel=None,
    )


def _link(target: str) -> str | None:
    if target.startswith("#"):
        return target
    if ":" in target or target.startswith("//"):
        return None
    if match := _EXPECTATIONS.fullmatch(target):
        return f"{match[1].replace('/', '.')}.html"
    return INDEX if posixpath.basename(target) == INDEX else None
