"""Settings that the commands for decisions about findings share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clientscope.config.option import Option

Fingerprints = Annotated[
    tuple[str, ...],
    Field(description="first digits of the findings' fingerprints, at least 6"),
    Option(positional=True, several=True, metavar="FINGERPRINT"),
]
Why = Annotated[str, Field(default="", description="reason, in a sentence for later readers; never a secret"), Option(flag_only=True)]
By = Annotated[str, Field(default="", description="name of the person who decides; by default this machine's user"), Option(flag_only=True)]
