"""Profiles (which rules are on, with which limits, for which clients), suppressions and owners.

Pure Python, since the job, the page and ``clientscope lint`` share it:

- `thresholds`: a profile, the choice of one for a client, and the profiles that come with clientscope, as TOML files.
- `client_patterns`: patterns for principals, groups, client ids and files.
- `rules_file`: a user's own profiles, their assignments, and suppressions.
- `suppressions`: findings that a person has decided not to see until a date.
- `owners`: the team and the contact of a client.
"""

from __future__ import annotations

from clientscope.profiles.thresholds import APACHE, BUILT_IN, Profile, ProfileChoice, Thresholds, of_addresses

__all__ = ["APACHE", "BUILT_IN", "Profile", "ProfileChoice", "Thresholds", "of_addresses"]
