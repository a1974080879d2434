"""Files that grow, are rotated or cut while they are read, and standard input that ends."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from clientscope.errors import SettingsError
from clientscope.logs.files import MAX_LINE, FollowedFile, FollowedPipe, Lines


def lines(*followed: FollowedFile | FollowedPipe) -> list[str]:
    return [line for each in followed for line in each.read()]


def test_a_file_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("before\n")
    with ExitStack() as stack:
        followed = FollowedFile(log, stack)
        assert lines(followed) == []
        with log.open("a") as file:
            file.write("one\ntw")
            file.flush()
            assert lines(followed) == ["one"]
            file.write("o\r\n")
        assert lines(followed) == ["two"]


def test_a_file_that_another_one_replaces_and_one_that_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("")
    with ExitStack() as stack:
        followed = FollowedFile(log, stack)
        for number in range(50):
            with log.open("a") as file:
                file.write(f"last of {number}\n")
            log.rename(tmp_path / f"app.log.{number}")
            assert lines(followed) == [f"last of {number}"], "also where no new file is there yet"
            log.write_text(f"first after {number}\n")
            assert lines(followed) == [f"first after {number}"]
        held = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        assert len([each for each in held if "app.log" in each]) == 1, "replaced files are closed"
        log.write_text("cut\n")
        assert lines(followed) == ["cut"]


def test_a_pipe_that_ends() -> None:
    read, write = os.pipe()
    followed = FollowedPipe("<stdin>", read)
    os.write(write, b"one\n")
    assert lines(followed) == ["one"]
    os.close(write)
    assert lines(followed) == lines(followed) == []
    os.close(read)


def test_an_endless_line_is_cut() -> None:
    found = Lines()
    got = [line for _ in range(10) for line in found.feed(b"x" * MAX_LINE)]
    assert [len(line) for line in got] == [MAX_LINE]
    assert list(found.feed(b"rest\nnext\n")) == ["next"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with ExitStack() as stack, pytest.raises(SettingsError, match="No such file"):
        FollowedFile(tmp_path / "none.log", stack)
