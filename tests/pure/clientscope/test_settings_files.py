"""Files with a client's settings are read up to a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.errors import SettingsError
from clientscope.settings_files import MAX_BYTES, read_bytes


def test_a_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "x.properties"
    path.write_bytes(b"a" * MAX_BYTES)
    assert len(read_bytes(path)) == MAX_BYTES
    path.write_bytes(b"a" * (MAX_BYTES + 1))
    with pytest.raises(SettingsError, match="is larger than"):
        read_bytes(path)
    with pytest.raises(SettingsError, match="Is a directory"):
        read_bytes(tmp_path)
