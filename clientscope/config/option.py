"""Options of a setting on the command line, in the environment and in a file, where its name isn't enough."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic.fields import FieldInfo


@dataclass(frozen=True, kw_only=True)
class Option:
    """Metadata of a setting, in its type: ``limit: Annotated[int, Option(flag_only=True)]``.

    Attributes:
        section: the TOML table, if it is not the command's own.
        key: the TOML key, and the end of the environment variable, if they are not the field's name.
        flag: the flag without its dashes, if it is not the field's name.
        short: the letter of a second flag.
        metavar: the placeholder of its value in the help.
        flag_only: given on the command line alone, never by the environment or a file.
        positional: given by its place; never by the environment or a file either.
        several: takes more than one value: a positional in a row, a flag each time that it is given.
        secret: never given by a flag, since every user of the machine can read the arguments of a process.
    """

    section: str = ""
    key: str = ""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    flag_only: bool = False
    positional: bool = False
    several: bool = False
    secret: bool = False


_PLAIN = Option()


def option(field: FieldInfo) -> Option:
    """The `Option` of a field; an empty one by default."""
    return next((each for each in field.metadata if isinstance(each, Option)), _PLAIN)
