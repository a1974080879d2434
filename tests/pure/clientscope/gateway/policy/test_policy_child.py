"""A template of the policy that ends as soon as it is forked, or never answers: an error, and then another one is taken; none is killed."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import closing

import pytest
from spawned_template import SpawnedTemplate

from clientscope.gateway.policy import child as module
from clientscope.gateway.policy.child import PolicyChild

POLICY = "clientscope.policy.publishing.PublishingPolicy"


def _ended() -> tuple[socket.socket, ...]:
    ours, theirs = socket.socketpair()
    theirs.close()
    return (ours,)


def _ended_before_its_answer() -> tuple[socket.socket, ...]:
    ours, theirs = socket.socketpair()
    theirs.shutdown(socket.SHUT_WR)
    return ours, theirs


def test_one_that_does_not_answer_is_an_error_and_the_next_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    held = [_ended(), _ended_before_its_answer(), socket.socketpair()]
    monkeypatch.setattr(module, "_START_WITHIN_S", 0.2)
    monkeypatch.setattr(os, "kill", lambda pid, _number: killed.append(pid))

    async def case() -> None:
        with closing(SpawnedTemplate()) as template:
            sockets = iter((*(each[0] for each in held), None))
            child = PolicyChild(POLICY, lambda: next(sockets) or template.fork_policy())
            for _ in held:
                with pytest.raises(OSError):
                    await child.fork(lambda _: None, lambda: None)
            await child.close()
            monkeypatch.setattr(module, "_START_WITHIN_S", 30.0)
            channel = await child.fork(lambda _: None, lambda: None)
            channel.close()
            await child.close()

    asyncio.run(asyncio.wait_for(case(), 60))
    for each in held:
        for one in each:
            one.close()
    assert killed == []
