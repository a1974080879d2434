"""Pages of other renderers, cleaned."""

from __future__ import annotations

from sinks.quality.pages import without_elsewhere


def test_pages_are_cleaned_of_whatever_could_act() -> None:
    page = (
        '<html><head><title>t</title><link rel="stylesheet" href="https://e.x/a.css">'
        '<style>@import "a.css"; a > b { background: url(//e.x/i) }</style></head><body onload="a()"><script>b("</p>")</script>'
        '<a href="javascript:c()">one</a><a href="//e.x">two</a><a href="../../index.html" style="d">three</a><img src="https://e.x/i">'
        '<a href="x/expectations/\\\\e.x\\a.html">four</a>'
        '<form action="/x"><p>lost</p></form><p class="k" data-x="1">kept &lt;b&gt;</p><svg><a>x</a></svg><br></body></html>'
    )
    assert without_elsewhere(page) == ('<a>one</a><a>two</a><a href="index.html">three</a><a>four</a><p class="k">kept &lt;b&gt;</p><br>')
