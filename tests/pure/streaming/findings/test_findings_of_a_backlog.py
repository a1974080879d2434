"""F27: findings from pushes that waited for the job have the times at which the pushes arrived, not the time of reading."""

from __future__ import annotations

import time
from itertools import islice

from fleets import BAD, HOUR, LEAK, MINUTE, NOW, Fleet, left_out

from streaming.publish_findings import cloud_event


def test_f50_who_left_long_before_a_start_takes_no_room_from_who_is_here() -> None:
    """Whether the others are read before those who are here, or between them."""
    fleet, now, gone = Fleet(most_clients=10), NOW + 2 * HOUR, iter(range(100, 200))
    fleet.now = now
    fleet.are_connected(range(1, 9))
    fleet.engine.early(now)
    for number in range(9):
        fleet.now = now
        if number:
            fleet.push(f"app-{number}", number, number, settings=BAD)
        fleet.now = NOW
        for other in islice(gone, 9):
            fleet.push(f"gone-{other}", other, other)
    fleet.now = now
    fleet.later()
    assert fleet.counted("AN101") == ("open", 8)
    assert left_out(fleet.engine)["clients"] == 0
    assert fleet.engine.sizes()["clients"] == 8


def test_f27_findings_of_a_backlog_carry_the_times_of_their_events(fleet: Fleet) -> None:
    fleet.client(1, LEAK, "orders")
    fleet.now += 10 * MINUTE
    fleet.push("orders", 1, instance=1, settings=LEAK)
    fleet.now += 6 * HOUR  # nobody reads meanwhile
    fleet.start()
    fleet.write()
    found = fleet.one("SK001")
    assert (found.first_seen_ms, found.last_seen_ms) == (NOW, NOW + 10 * MINUTE)
    assert found.opened_ms == NOW
    seconds = (NOW + 10 * MINUTE) // 1000
    assert dict(cloud_event(found))["ce_time"].startswith(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode())
