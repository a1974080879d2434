"""Loading of a policy: by dotted name, by entry point, and the error for an unknown one."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.errors import SettingsError
from clientscope.gateway.policy.process import load_policy
from clientscope.policy.publishing import PublishingPolicy


def install(folder: Path, package: str, name: str, value: str) -> None:
    """What an installer writes for a package with one entry point."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[clientscope.policies]\n{name} = {value}\n")


def test_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "theirs", "theirs", "clientscope.policy.publishing:PublishingPolicy")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_policy("theirs") is load_policy("clientscope.policy.publishing.PublishingPolicy") is PublishingPolicy
    with pytest.raises(SettingsError, match="no entry point nobodys") as caught:
        load_policy("nobodys")
    assert "theirs" in str(caught.value.hint)


def test_two_claims_of_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "first", "same", "clientscope.policy.publishing:PublishingPolicy")
    install(tmp_path, "second", "same", "clientscope.policy.interface:ClientConfigPolicy")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError, match=r"claimed more than once: .*second.*first"):
        load_policy("same")


@pytest.mark.parametrize("name", ["nowhere.Policy", "clientscope.policy.interface.Nothing", "pathlib.Path", "x", ".x"])
def test_what_is_no_policy_is_an_error(name: str) -> None:
    with pytest.raises(SettingsError, match="client_config_policy_class_name"):
        load_policy(name)


def test_an_import_that_raises_is_an_error_without_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raising_policy.py").write_text("raise RuntimeError('hunter2')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError, match="importing it raised RuntimeError") as caught:
        load_policy("raising_policy.Policy")
    assert "hunter2" not in str(caught.value)
