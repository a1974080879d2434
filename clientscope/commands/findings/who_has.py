"""The command ``clientscope findings who-has``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clientscope.commands.command import Command
from clientscope.config import PageSettings
from clientscope.config.option import Option


class FindingsWhoHasSettings(PageSettings):
    """Lists which applications and clients pushed a secret, under which setting, and whether they are connected now.
    The value is read from standard input, or typed without an echo; it is hashed with the digest key and forgotten.
    It must be the whole value of a setting. Only the broker knows whether a password still works.
    """

    section = "findings"
    subcommand = "who-has"
    reads_secret = True
    digest_key_file: Annotated[Path | None, Option(section="stream")] = Field(
        None, description="keys of the HMAC digests, the same as the gateways'; required"
    )
    output: Annotated[Literal["text", "json"], Option(short="o", flag_only=True)] = Field("text", description="format")


def run(settings: FindingsWhoHasSettings) -> int:
    """Prints who pushed the value.

    Raises:
        EnvironmentProblem: no serve answers, or it requires a token.
        SettingsError: there is no key, or no value.
    """
    import json
    import sys

    from rich.console import Console

    from clientscope import core_dumps
    from clientscope.digest import DigestKey
    from clientscope.errors import SettingsError
    from clientscope.report import listing
    from clientscope.report.api import Api
    from clientscope.report.findings import holders
    from clientscope.report.findings.secret_input import read_digests

    if settings.digest_key_file is None:
        raise SettingsError(
            "--digest-key-file is required", "it is the gateways' file of keys; without one no digests were made (docs/keys.md)"
        )
    api, key = Api(settings), DigestKey.read(settings.digest_key_file)
    core_dumps.forbid()
    found = holders.fetch(api, read_digests(key))
    if settings.output == "json":
        print(json.dumps([finding.model_dump(mode="json") for finding in found], ensure_ascii=False, indent=2))
        print(holders.ONLY_THE_BROKER if found else holders.NOBODY, file=sys.stderr)
    else:
        view = holders.view(found)
        listing.console(Console(), view).print(view)
    return 0


COMMAND = Command(FindingsWhoHasSettings, run)
