"""Sentences about a finding: its application, the setting that it is about, and rules' texts without markup."""

from __future__ import annotations

from collections.abc import Sequence

from clientscope.model.client import NO_APPLICATION, Application
from clientscope.model.finding import LeakPlace
from clientscope.model.principals import authenticated
from clientscope.model.setting import Setting

_MOST_SETTINGS = 2
_DIGITS = 8


def unmarked(text: str) -> str:
    """Text of a rule without the two backticks that its documentation puts around code: for terminals and alerts."""
    return text.replace("``", "")


def application(of: Application) -> str:
    """The application in a few words; a dash if there is none."""
    group = f"group {of.group}" if of.group and of.group != of.client_id else None
    return ", ".join(filter(None, (of.client_id, group, authenticated(of.principal)))) or of.principal or "–"


def whose(of: Application, places: Sequence[LeakPlace], place_count: int) -> str:
    """The application of a finding; of a leak in several applications the first, and how many more."""
    found = list(dict.fromkeys(place.application for place in places))
    if len(found) < 2:
        return application(of if of != NO_APPLICATION or not found else found[0])
    more = len(found) - 1
    return f"{application(found[0])} and {more}{'+' * (place_count > len(places))} more"


def message(sentence: str, of: Application, settings: Sequence[Setting], places: Sequence[LeakPlace] = (), place_count: int = 0) -> str:
    """A rule's sentence with the application and the settings that decided, so that no two findings have the same message.

    Args:
        sentence: the rule's.
        places: of a leak; settings then has the one that holds the secret, whose digest distinguishes it from others under the same key.
    """
    if of == NO_APPLICATION and not places:
        return sentence
    keys = list(dict.fromkeys(setting.key for setting in settings))
    about = [*keys[:_MOST_SETTINGS], *([f"{len(keys) - _MOST_SETTINGS} more"] * (len(keys) > _MOST_SETTINGS))]
    about += [f"digest {setting.digest[:_DIGITS]}" for setting in settings[:1] if places and setting.digest]
    named = f" ({', '.join(about)})" if about else ""
    return f"{whose(of, places, place_count)}{named}: {sentence}"
