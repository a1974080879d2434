"""F27: findings from pushes that waited for the job have the times at which the pushes arrived, not the time of reading."""

from __future__ import annotations

import time

from fleets import HOUR, MINUTE, NOW, Fleet

from streaming.publish_findings import cloud_event

LEAK = {"acks": "all", "sasl.password": "hunter2-canary"}


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
