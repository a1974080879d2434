"""session: a client that chooses correlation ids or tokens to impersonate another gains nothing (F41)."""

from __future__ import annotations

import struct

import pytest
from frame_bytes import request_frame
from hostile_bytes import REFUSED
from played import Played, answer_to_hello, hello, request_id

from clientscope.session.session import FRAME_BYTES, LEAST_BURST_BYTES, Session
from clientscope.session.state import PushAnswer
from clientscope.session.unanswered import FIRST_ID, IDS, MOST_UNANSWERED
from clientscope.wire.frames import FRAMES_PER_TURN

LIST_GROUPS = 16


def test_f41_a_client_that_uses_up_the_gateways_ids_waits_for_an_answer_that_settles_them(session: Session) -> None:
    played = Played(session)
    produce = b"".join(struct.pack(">ihhihhh", 14, 0, 9, FIRST_ID + number, -1, 0, 0)[:18] for number in range(IDS))
    played.client(produce + request_frame(LIST_GROUPS, 1, 5))
    sent = played.sent
    assert played.holds and IDS // 2 <= len(sent) <= IDS // 2 + FRAMES_PER_TURN + 1
    carrier = sent[-1]
    assert struct.unpack_from(">hh", carrier, 4) == (18, 0) and request_id(carrier) not in [request_id(frame) for frame in sent[:-1]]
    while played.holds:
        played.answers(answer_to_hello())
    asked = [frame for frame in played.sent if struct.unpack_from(">h", frame, 4)[0] != 18]
    assert b"".join(asked) == produce + request_frame(LIST_GROUPS, 1, 5), "nothing of the client's is changed or lost"
    assert not played.to_client, "the answers to the gateway's own requests are no client's"


def test_f42_requests_wait_while_64_await_an_answer_whatever_it_is(session: Session) -> None:
    """And a carrier is short, however long the client's own ApiVersions was."""
    played = Played(session, PushAnswer(0))
    played.client(hello("n" * 5_000))
    played.answers(answer_to_hello(version=3))
    played.client(REFUSED * 1_000)
    carriers = played.sent[1:]
    assert played.holds and len(carriers) == MOST_UNANSWERED
    assert max(map(len, carriers)) <= 512
    assert session.identity.software_name == "n" * 5_000, "a carrier that the broker refuses changes nothing"


def reads(played: Played) -> int:
    """Sends requests that are read, each answered at once, until the client is held, or 999; returns how many went to the broker."""
    before = len(played.sent)
    for _ in range(999):
        if played.held_s is not None:
            break
        played.client(request_frame(18, 0, 5))
        for own in list(played.connection.session.unanswered.pending()):
            played.broker(answer_to_hello(correlation_id=own))
    return len(played.sent) - before


@pytest.mark.parametrize(("idle_s", "share"), [(0, 0.0), (4, 0.25), (12, 0.75), (16, 1.0), (20, 1.0), (86_400, 1.0)])
def test_f43_idle_client_saves_up_one_burst_and_no_more(idle_s: float, share: float) -> None:
    now_s = 1_000.0
    played = Played(Session(clock=lambda: now_s))
    burst = reads(played)
    assert 0 < burst <= LEAST_BURST_BYTES / FRAME_BYTES + 1
    now_s += idle_s
    played.resume()
    assert reads(played) == pytest.approx(share * burst, abs=1)
