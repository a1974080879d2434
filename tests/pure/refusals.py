"""Settings that are refused."""

from __future__ import annotations

import pytest

from clientscope.errors import SettingsError


def refused(match: str) -> pytest.RaisesExc[SettingsError]:
    """Expects that what is done within is refused, with a text that this expression matches."""
    return pytest.raises(SettingsError, match=match)
