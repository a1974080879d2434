"""A lease: one of several that ask gets it, and it passes on when its holder frees it, dies or can't renew it."""

from __future__ import annotations

import threading
import time

import pytest
from observe import eventually

from clientscope.stores import lease
from clientscope.stores.lease import HeldElsewhere, holder, leased
from clientscope.stores.store_path import StorePath, any_path


@pytest.fixture
def path(address: str, request: pytest.FixtureRequest) -> StorePath:
    found = any_path(f"{address}/{request.node.name}/clientscope.lock")
    assert isinstance(found, StorePath)
    return found


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 8.0)
    monkeypatch.setattr(lease, "RENEWAL_S", 1.0)
    monkeypatch.setattr(lease, "_LOOK_S", 0.1)


@pytest.mark.usefixtures("quick")
def test_a_second_one_hears_who_has_it_and_gets_it_when_it_is_free(path: StorePath) -> None:
    with leased(path, "the first"):
        assert holder(path).startswith("the first, process ")
        with pytest.raises(HeldElsewhere, match="the first, process "), leased(path, "the second"):
            pass
    assert holder(path) == ""
    with leased(path, "the second") as mine:
        assert not mine.lost
        assert eventually(lambda: mine.age_s > 0.5, 30), "between two renewals"
        assert eventually(lambda: mine.age_s < 0.5, 30), "renewed"
    assert [each.name for each in path.parent.iterdir()] == ["clientscope.lock.2"], "no more than one file is left"


@pytest.mark.usefixtures("quick")
def test_that_of_a_process_that_died_runs_out(path: StorePath) -> None:
    path.store.create(f"{path.key}.7", b"who died, process 1 on a machine\n0\n")
    waited: list[bool] = []
    with leased(path, "the next", waits=lambda: waited.append(True)) as mine:
        assert waited == [True] and not mine.lost
        assert [each.name for each in path.parent.iterdir()] == ["clientscope.lock.8"]


@pytest.mark.usefixtures("quick")
def test_a_holder_that_was_overtaken_or_cannot_renew_has_lost_it(path: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    with leased(path, "the first") as mine:
        path.store.create(f"{path.key}.2", b"another\n")
        assert eventually(lambda: mine.lost, 30)
    assert path.with_name(f"{path.name}.2").read_bytes() == b"another\n", "what isn't its own it doesn't free"
    monkeypatch.setattr(lease, "_numbers", lambda path: (_ for _ in ()).throw(OSError("away")))
    cut = lease.Lease(path, 3, "cut off")
    assert not cut.lost
    assert eventually(lambda: cut.lost, 30)
    cut.end()


@pytest.mark.usefixtures("quick")
def test_of_many_that_want_it_one_has_it_at_a_time(path: StorePath) -> None:
    having: list[int] = []
    most = [0]
    errors: list[BaseException] = []

    def want(number: int) -> None:
        try:
            with leased(path, f"thread {number}", patience_s=120):
                having.append(number)
                most[0] = max(most[0], len(having))
                time.sleep(0.02)
                having.remove(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=want, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert (most, errors, having) == ([1], [], [])
