"""Detection of random text, as password and token generators produce it; ids and digests of known lengths are excluded.

Source: entropy as a sign of secrets, as in https://github.com/Yelp/detect-secrets; docs/leaks.md has how often it is wrong here.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share.
"""

from __future__ import annotations

import re
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits

from clientscope.catalog.placeholders import without_templates

CHANGES, WORDS = 0.38, 0.35
"""Random text: the smallest share of places at which the kind of character changes, and the largest share of characters in words."""

LONGEST_RANDOM = 128
"""Characters: a longer run is data (a schema, a certificate) rather than a credential."""

RANDOM_RUN = r"[A-Za-z0-9+/]{23,}"
"""Text of at least the length that may look random: one more than the ids that Kafka writes (a UUID in base64url)."""

PUNCTUATED_RUN = r"[!-~]{14,}"
"""Text of at least the length of a generated password with punctuation."""

PUNCTUATION = r"[!#$%^&*()?<>{}|~;\[\]\\]"
"""What such a password has, and names, versions, addresses and paths don't."""

_WINDOW, _CHANGES_IN_WINDOW = 16, {3: 0.5, 2: 0.6}
"""Characters that are looked at together, and the share of places in which the kind changes at least, by how many other kinds there are."""

_KINDS_OF_PUNCTUATION = 3
"""What there is of punctuation at least, where one of the other kinds is missing."""

_CODE = r"[$%#][A-Za-z]?\{[^{}]*\}|\[\^?\\?[A-Za-z0-9:+.]?(?:-[A-Za-z0-9])?\]|\(\.[*+]\??\)|\([0-9+*/., -]{0,12}\)|\\."
"""Punctuation of expressions and formats rather than of passwords."""

SEPARATED_RUN = r"[A-Za-z0-9+/_.~=:-]{23,}"
"""Text of at least the length that may look random, with hyphens, dots and underscores inside."""

_CASE = 0.2
"""The smallest share of capitals, and of small letters, in random text with separators."""

_ID_LENGTH = 22
"""Length of the ids that Kafka writes: a UUID in base64url."""

DIGEST_LENGTHS = (86, 43, 27)
"""Lengths of SHA-512, SHA-256 and SHA-1 in base64 without padding, longest first; KSUIDs also have 27."""

_RANDOM_RUN = re.compile(RANDOM_RUN)
_PREFIXED_DIGEST = re.compile(r"sha[0-9]{1,3}[-:=][A-Za-z0-9+/=]{20,}")
_WIDE_RUN, _WORD = re.compile(r"[A-Za-z0-9+/_=-]{23,}"), re.compile("a{4,}")
_PUNCTUATED_RUN, _PUNCTUATION, _SEPARATED_RUN = re.compile(PUNCTUATED_RUN), re.compile(PUNCTUATION), re.compile(SEPARATED_RUN)
_FIRST_WORD = re.compile(r"[A-Za-z]?[a-z]{2,24}[0-9]{0,3}[-_.:/=]")
_LAST_WORD = re.compile(r"[-_.:/=](?:[a-z]{2,24}|[0-9]{1,5}|(?:[A-Z][a-z]{2,24}){1,4})$")
_MOST_WORDS = 12
_CODE_PUNCTUATION = re.compile(_CODE)
_KINDS = str.maketrans(
    {character: kind for kind, characters in (("a", ascii_lowercase), ("A", ascii_uppercase), ("0", digits)) for character in characters}
)


def looks_random(value: str) -> bool:
    """Whether the value has a run of letters and digits as a generator of secrets makes them.

    Entropy proper can't tell 23 random characters from a class name.  What does is how often the kind of character changes
    (small letters, capitals, digits): in random text at six of ten places, in words written together at two or three.
    """
    if _PUNCTUATION.search(value):
        bare = _CODE_PUNCTUATION.sub("", without_templates(value, left=_PUNCTUATION))
        if any(_is_punctuated(run[0]) for run in _PUNCTUATED_RUN.finditer(bare)):
            return True
    if value == value.lower() or not _SEPARATED_RUN.search(value):
        return False
    value = _PREFIXED_DIGEST.sub("", value)
    if any(_is_random(run[0]) for wide in _WIDE_RUN.finditer(value) for run in _RANDOM_RUN.finditer(_without_digest(wide[0]))):
        return True
    return any(_is_separated(run[0]) for run in _SEPARATED_RUN.finditer(value))


def _is_punctuated(run: str) -> bool:
    """Whether a part of this is as a generator of passwords with punctuation makes them: by how often the kind changes in 16 characters."""
    if len(run) > LONGEST_RANDOM:
        return False
    kinds = run.translate(_KINDS)
    width = min(_WINDOW, len(kinds))
    return any(_is_password_like(kinds[start : start + width]) for start in range(len(kinds) - width + 1))


def _is_password_like(kinds: str) -> bool:
    punctuation = set(_PUNCTUATION.findall(kinds))
    others = len({"a", "A", "0"} & set(kinds))
    if not punctuation or others < 2 or (others == 2 and len(punctuation) < _KINDS_OF_PUNCTUATION):
        return False
    return _changes(kinds, _CHANGES_IN_WINDOW[others])


def _is_separated(run: str) -> bool:
    """Whether what is left of this is random, without the words that it begins and ends with: ``orders-Zk3-9xQ_7Lp.2Vn8Wd0aBcQx-prod``.

    Ids and digests in base64url may have hyphens and underscores within, so a part that is as long as one of these isn't random.
    """
    if len(run) > 2 * LONGEST_RANDOM:
        return False
    starts, ends = [0], [len(run)]
    while len(starts) < _MOST_WORDS and (word := _FIRST_WORD.match(run, starts[-1])):
        starts.append(word.end())
    while len(ends) < _MOST_WORDS and (word := _LAST_WORD.search(run, starts[-1], ends[-1])):
        ends.append(word.start())
    if any(_is_digest(run[start:end].rstrip("=")) for start in starts for end in ends):
        return False
    core = re.sub("[^A-Za-z0-9]", "", run[starts[-1] : ends[-1]])
    if len(core) <= _ID_LENGTH:
        return False
    in_capitals, in_small = (sum(map(kind, core)) / len(core) for kind in (str.isupper, str.islower))
    return in_capitals >= _CASE and in_small >= _CASE and changes_as_random(core)


def _is_digest(text: str) -> bool:
    """Whether it may be an id or a digest in base64url: as long, and with no more hyphens and underscores than chance gives it."""
    others = sum(not each.isalnum() for each in text)
    return len(text) in (_ID_LENGTH, *DIGEST_LENGTHS) and others <= 3 + len(text) // 8 and not set(text) & set(".:~=")


def _without_digest(run: str) -> str:
    """Without the digest or id that it is or ends with; those in base64url may have hyphens and underscores within."""
    text = run.rstrip("=")
    if len(text) in DIGEST_LENGTHS:
        return ""
    ends = next((length for length in DIGEST_LENGTHS if len(text) > length and text[-length - 1] in "-_/"), 0)
    return text[: len(text) - ends]


def _is_random(run: str) -> bool:
    return len(run) not in DIGEST_LENGTHS and changes_as_random(run)


def changes_as_random(run: str) -> bool:
    """Whether small letters, capitals and digits change as often as in random text, of which it misses one in a thousand."""
    if len(run) > LONGEST_RANDOM:
        return False
    kinds = run.translate(_KINDS)
    return {"a", "A", "0"} <= set(kinds) and _changes(kinds, CHANGES)


def _changes(kinds: str, share: float) -> bool:
    """Whether kinds of characters change in this share of places, and few characters are in words."""
    changes = sum(before != after for before, after in pairwise(kinds))
    in_words = sum(len(word[0]) for word in _WORD.finditer(kinds))
    return changes >= share * (len(kinds) - 1) and in_words < WORDS * len(kinds)
