"""Comments in settings files that ignore findings."""

from __future__ import annotations

from command_runs import Document
from golden import is_golden
from lint_reports import judged

from clientscope.commands.lint.findings import MOST, Ignored, read_comments

PRODUCER = ("--client-type", "producer")


IGNORED = {
    "a.properties": [
        "client.id=orders\n# clientscope: ignore[CF103, AN101] a test of errors\n\n# another\nacks=2\n",
        "client.id=orders\n! clientscope: ignore[CF103] a test of errors\nacks = 2\n",
        # A finding without a place is ignored from anywhere.
        "# clientscope: ignore[AN306] it is named elsewhere\nacks=all\n",
        # Other comments, and those of other settings, ignore nothing.
        "# clientscope: ignore[CF103]\nacks=2\n",
        "# clientscope: ignore[everything] a reason\nacks=2\n",
        "# clientscope: ignore[CF101] another rule\nacks=2\n",
        "# ignore[CF103] not ours\nacks=2\n",
        "# clientscope: ignore[CF103] this one\nacks=2\ncompression.type=zst\n",
        # A secret is not ignored so.
        'acks=all\n# clientscope: ignore[SK001] a test\'s\nsasl.jaas.config=org.example.Module required password="canary-1";\n',
    ],
    "a.yaml": [
        "client.id: orders\nacks: 2  # clientscope: ignore[CF103] a test of errors\n",
        "client.id: orders\n# clientscope: ignore[CF103] a test of errors\nacks: 2\n",
    ],
}


def test_comments_that_ignore_findings(lint: Document) -> None:
    text = ""
    for name, source in ((name, source) for name, sources in IGNORED.items() for source in sources):
        text += f"{name}\n{source}\n{judged(lint(name, source, *PRODUCER))}\n"
    assert is_golden(text, __file__, "comments.txt")


def test_comments_are_bounded_and_a_value_of_a_properties_file_is_none() -> None:
    ignored, notes = read_comments(b"# clientscope: ignore[CF103] why\nacks=2\n" * (MOST + 5), "yaml")
    assert (len(ignored), ignored[0], len(notes)) == (MOST, Ignored("CF103", 1, 2, "why"), 1)
    assert read_comments(b"client.id=a # clientscope: ignore[CF103] b\n", "properties") == ([], [])
