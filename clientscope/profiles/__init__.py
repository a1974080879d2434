"""Profiles (which rules are on, with which limits, for which clients), suppressions and owners.

Pure Python, since the job, the page and ``clientscope lint`` share it:

- `thresholds`: a profile, and the choice of one for a client.
- `builtin`: the profiles that come with clientscope, as TOML files beside it, each value with its source.
- `client_patterns`: patterns for principals, groups, client ids and files.
- `rules_file`: a user's own profiles, their assignments, and suppressions.
- `suppressions`: findings that a person has decided not to see until a date.
- `owners`: the team and the contact of a client.
"""

from __future__ import annotations

from clientscope.profiles.builtin import BUILT_IN
from clientscope.profiles.thresholds import APACHE, Profile, Thresholds

__all__ = ["APACHE", "BUILT_IN", "Profile", "Thresholds"]
