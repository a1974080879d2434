"""``clientscope xray``: reads the logs, judges the clients, and prints the result."""

from __future__ import annotations

import sys

from clientscope.commands.lint import formats, linting
from clientscope.commands.xray import XraySettings, output
from clientscope.commands.xray.result import look


def run(settings: XraySettings) -> int:
    """Prints the result; the command's exit status.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    made = look(settings)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal of few characters
    match settings.output_format:
        case "json":
            print(output.json_document(made))
        case "sarif":
            print(formats.sarif_document(made.lint))
        case _:
            output.show(made)
            if settings.statistics:
                print("\n".join(formats.statistics(made.lint)))
    if settings.html:
        output.write_page(settings.html, output.html_page(made))
        print(f"wrote {settings.html}", file=sys.stderr)
    sys.stdout.flush()
    return linting.ended(settings, made.lint)
