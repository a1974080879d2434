"""``clientscope xray``: reads the logs, judges the clients, and prints the result."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from clientscope.commands.lint import formats, linting
from clientscope.commands.xray import XraySettings, output
from clientscope.commands.xray.inventory import NO_REQUEST, NOTHING_CAME, read_logs
from clientscope.commands.xray.result import XrayResult, applications, configurations, other_lines, question, reads, result, seen_on
from clientscope.errors import SettingsError
from clientscope.logs import files
from clientscope.profiles import owners
from clientscope.readiness import target_release


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


def look(settings: XraySettings) -> XrayResult:
    """Reads and judges.

    Raises:
        ClientscopeError: something is wrong with the settings, the rules file or owners.toml.
    """
    target = target_release(settings.target)
    release = seen_on(settings.broker_release)
    if settings.level == "info" and not settings.seconds:
        raise SettingsError("--level needs --seconds", "--level info --seconds 86400 watches for a day")
    if settings.seconds:
        from clientscope.commands.xray.live import look_at

        looked = look_at(settings)
        inventory, logs, errors = looked.inventory, looked.logs, looked.errors
        release = release or looked.broker_release
    elif not settings.paths:
        raise SettingsError("no log is given", "give PATH, or --seconds 10 to have the brokers log requests for so long")
    else:
        inventory, logs, errors = read_logs(files.find(settings.paths), settings.max_bytes)
    if not inventory.clients and not errors and settings.level == "debug":
        errors.append(NOTHING_CAME if settings.seconds else NO_REQUEST)
    upgrade = question(target, release, owners.read_if_given(settings.owners), logs)
    of = applications(inventory)
    found = configurations(inventory, of)
    lint = linting.report_on([*reads(found), *other_lines(inventory)], settings, datetime.now(UTC).date(), errors=errors)
    return result(", ".join(log.name for log in logs), logs, inventory, of, found, lint, upgrade)
