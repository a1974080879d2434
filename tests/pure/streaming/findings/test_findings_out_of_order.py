"""What a job has found once it has read what was there at its start, in whatever order its partitions come: connections, then results.

Where the clock of a partition's leader jumps, a newer record has an earlier time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, filterfalse, permutations
from typing import Any
from uuid import UUID

import pytest
from fleets import HOUR, KEY, LEAK, MINUTE, NOW, SECOND, Fleet, Step, Story, connected, histories, new_engine, pushed, told, tombstones
from hypothesis import example, given
from hypothesis import strategies as st
from record_bytes import config_record, connection_record, setting

from clientscope.findings.conditions import Condition, gateway_subject
from clientscope.findings.fingerprints import secret_fingerprint
from clientscope.model.enums import Kind
from clientscope.model.finding import Finding
from clientscope.model.input import InputRecord
from clientscope.model.result import PushResult
from streaming.findings.engine import FindingsEngine
from streaming.findings.inputs import EngineInput, whereabouts

_STEPS = ("starts", "returns", "returns", "pushes", "leaves", "leaves", "is erased")
_JUMPS = (-10 * MINUTE - 7, -2 * SECOND - 7, -50, 2 * SECOND + 7, 10 * MINUTE + 7)
"""How far the clock of a leader may be from the true time, in ms. No two records get the same time: then neither is the newer one."""

_alike = partial(histories, configurations=3, most=40)  # which the same rules can judge
# Not both: where a gateway's restart is read before what was open there, nobody knows when that ended.
_steady = _alike(*_STEPS, "gateway restarts") | _alike(*_STEPS, "hours pass")
jumping = _alike("returns", "pushes", "pushes", "pushes", "leaves", "is erased", "clock jumps", "clock jumps", "clock jumps")


class Records(Story):
    """What the engine gets of a history, one after the other; each topic has one partition until `grow`.

    Args:
        jumps: whether the clocks of the topics' leaders jump; their records are the same otherwise.
    """

    def __init__(self, history: list[Step], jumps: bool = True) -> None:
        super().__init__()
        self.written: list[EngineInput] = []
        self._jumps, self._skew_ms = jumps, {True: 0, False: 0}
        self.fleet.engine.apply = self._take  # type: ignore[method-assign]
        self.play(history)
        self.now = self.fleet.now

    def step(self, what: str, client: int, which: int) -> None:
        if what == "clock jumps" and self._jumps:
            self._skew_ms[which == 1] = 0 if which == 2 else _JUMPS[client]
        super().step(what, client, which)

    def _take(self, inputs: Iterable[EngineInput], overtake: bool = False) -> None:
        self.written += [replace(each, appended_ms=each.appended_ms + self._skew_ms[is_event(each)]) for each in inputs]

    def grow(self, before: int, moved: Mapping[str, int]) -> None:
        """The topics have more partitions after so many records: producers then write each key where ``moved`` says."""
        ends: Counter[tuple[bool, int]] = Counter()
        for number, each in enumerate(self.written):
            which = is_event(each), 0 if number < before else moved[key_of(each)]
            self.written[number] = replace(each, partition=which[1], offset=ends[which])
            ends[which] += 1


def is_event(record: EngineInput) -> bool:
    return isinstance(record, InputRecord)


def key_of(record: EngineInput) -> str:
    """The key that its partition follows from: one for all of connections."""
    return "gateway" if isinstance(record, InputRecord) else record.client


class Job:
    """An engine that starts, and gets one record after another.

    Args:
        new: what is written after its start, in order.
        overtakes: how often one of its results comes while it still reads what was there.
    """

    def __init__(self, new: list[EngineInput], order: random.Random, overtakes: float = 0) -> None:
        self.engine = new_engine()
        self._new, self._order, self._overtakes = list(reversed(new)), order, overtakes

    def read(self, partitions: list[list[EngineInput]]) -> None:
        """What was there at its start, whichever partition Kafka answers for first; new results come between."""
        left = [list(reversed(partition)) for partition in partitions]
        while any(left):
            self.engine.apply([self._order.choice([partition for partition in left if partition]).pop()])
            results = [number for number, each in enumerate(self._new) if not is_event(each)]
            if results and self._order.random() < self._overtakes:
                self.engine.apply([self._new.pop(results[-1])], overtake=True)

    def read_what_is_new(self, most: int = 1) -> None:
        """All of it, in batches of up to so many records, whose rows have no order."""
        while self._new:
            batch = [self._new.pop() for _ in range(min(len(self._new), self._order.randint(1, most)))]
            self._order.shuffle(batch)
            self.engine.apply(batch)


def known(engine: FindingsEngine, now_ms: int) -> tuple[Any, ...]:
    """What it comes to: who is there, what each pushed last, and what is found, of how many clients.

    Without AN401, which is about starts: which of a client's pushes was its first one is known only until compaction runs.
    """
    findings = {key: found(record) for key, record in engine.changes(now_ms).items() if record and record.code != "AN401"}
    pushes = {push.client: push.appended_ms for push in engine.clients.all()}
    return engine.sizes()["connections"], pushes, {client for client in pushes if engine.clients.is_live(client)}, findings


def found(record: Finding) -> tuple[Any, ...]:
    return record.code, record.state, record.severity, record.client_count, record.first_seen_ms, record.last_seen_ms, record.message


def only(engine: FindingsEngine, code: str, now_ms: int) -> Finding:
    """The only finding of this code that it would write."""
    (found,) = [record for record in engine.changes(now_ms).values() if record and record.code == code]
    return found


def without_times(of: tuple[Any, ...]) -> tuple[Any, ...]:
    connections, pushes, live, findings = of
    return (
        connections,
        pushes.keys(),
        live,
        sorted((code, state, severity, count) for code, state, severity, count, *_ in findings.values()),
    )


@given(_steady | jumping, st.data())
def test_f49_what_is_found_does_not_depend_on_the_order_of_reading(history: list[Step], data: st.DataObject) -> None:
    """Of times it does where a clock jumps; then the topics have one partition, as the newer of two pushes is the one behind the other.

    It does, too, where new results come before what a client pushed earlier: that counts for nothing then.
    """
    records, steps = Records(history), {what for what, *_ in history}
    jumps = "clock jumps" in steps
    ends = len(records.written)
    grown = ends if jumps else data.draw(st.integers(0, ends), label="records before the topics grow")
    started = data.draw(st.integers(0 if jumps else grown, ends), label="records before the job starts")
    overtakes = data.draw(st.sampled_from((0, 0.2)), label="how many of the new results overtake")
    order = random.Random(data.draw(st.integers(0, 2**32), label="seed"))  # noqa: S311  # an order, no secret
    places = {key_of(each): order.randrange(3) for each in records.written}
    records.grow(grown, places)
    there: dict[bool, list[list[EngineInput]]] = {True: [[], [], []], False: [[], [], []]}
    for each in records.written[:started]:
        there[is_event(each)][each.partition if is_event(each) else places[key_of(each)]].append(each)  # a client's results are in one
    job = Job(records.written[started:], order, overtakes)
    job.read(there[True])
    job.read(there[False])
    job.read_what_is_new()
    in_order = Job(records.written, order)
    in_order.read_what_is_new()
    now_ms = records.now + (22 if jumps else 1) * MINUTE
    found = known(job.engine, now_ms), known(in_order.engine, now_ms)
    (*clients, findings), (*clients_in_order, findings_in_order) = map(without_times, found) if jumps or overtakes else found
    assert clients == clients_in_order
    if overtakes:  # what was corrected before it was read is never found
        findings, findings_in_order = ([each for each in of if "resolved" not in each] for of in (findings, findings_in_order))
    # A push whose tombstone was read first was never there; in order it was seen, and then erased.
    assert findings == findings_in_order or "is erased" in steps


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_instance_that_was_replaced_is_gone_in_whatever_order_results_come(order: Sequence[int]) -> None:
    """Those of one partition of pushes are in several: by their clients."""
    records = Records(told("starts 0 0, leaves 0 0, starts 0 1, starts 1 1"))
    pushes = [*filterfalse(is_event, records.written)]
    job = Job([pushes[place] for place in order], random.Random(0))  # noqa: S311  # an order, no secret
    job.read([[*filter(is_event, records.written)]])
    job.read_what_is_new()
    _, _, live, findings = known(job.engine, records.now + 20 * MINUTE)
    assert live == {push.client for push in pushes[1:]}
    assert [(code, state, count) for code, state, _, count, *_ in findings.values()] == [("AN101", "resolved", 0)]


@pytest.mark.parametrize("grown", range(1, 8))
def test_client_is_kept_for_an_hour_after_it_left_however_partitions_are_read(grown: int) -> None:
    records = Records(told("starts 0 0, leaves 0 0, returns 0 0, hours pass 0 0, leaves 0 0"))
    records.grow(grown, dict.fromkeys({key_of(each) for each in records.written}, 1))
    for first in combinations(range(8), grown):  # the places of what is in the first partition
        partitions = [iter([each for each in records.written if each.partition == which]) for which in (0, 1)]
        job = Job([next(partitions[place not in first]) for place in range(8)], random.Random(0))  # noqa: S311  # an order, no secret
        job.read_what_is_new()
        _, pushes, live, _ = known(job.engine, records.now + 59 * MINUTE)
        assert (len(pushes), live) == (1, set()), first
        assert not known(job.engine, records.now + 2 * HOUR)[1]


def test_client_has_not_left_that_has_a_connection_which_was_read_late(fleet: Fleet) -> None:
    first = fleet.connect()
    fleet.now += MINUTE
    fleet.close(first)
    fleet.now = NOW
    fleet.connect()
    assert fleet.engine.clients.liveness.left_ms(whereabouts("c", "User:a", "orders-1", "10.0.0.1")) is None


def test_secret_that_was_overtaken_was_pushed(engine: FindingsEngine) -> None:
    corrected = config_record(setting("acks", "all"), client_id="app-1", instance_id=UUID(int=1))
    engine.apply(pushed([(NOW + SECOND, corrected)], begin=1), overtake=True)
    engine.apply(pushes_of(1, NOW, "hunter2-canary"))
    leak = only(engine, "SK001", NOW + MINUTE)
    assert (leak.state, leak.client_count) == ("stopped", 0)
    assert [push.offset for push in engine.clients.all()] == [1]


NAMES = {"principal": "User:a", "client_id": "app", "address": "10.0.0.1"}
OPENED = connection_record(1, kind=Kind.PRESENT, connection=7, epoch=1, **NAMES)


def instance(number: int) -> bytes:
    """The push of one of several instances of these names, on a connection of which no more is known."""
    return config_record(setting("acks", "all"), instance_id=UUID(int=number + 1), connection=number, epoch=1, **NAMES)


@pytest.mark.parametrize(("back_ms", "newest"), [(10, 0), (-10, 1)])
def test_what_overtakes_makes_nothing_newer_that_is_before_it(engine: FindingsEngine, back_ms: int, newest: int) -> None:
    """Of two instances of the same names the newer one is connected."""
    engine.apply(connected([(NOW, OPENED)]))
    engine.apply(pushed([(NOW + MINUTE, config_record(setting("acks", "all"), client_id="other"))], begin=1), overtake=True)
    for partition, at_ms in enumerate([NOW, NOW - back_ms]):
        engine.apply(pushed([(at_ms, instance(partition))], partition=partition))
    engine.changes(NOW + 30 * MINUTE)
    assert [push.connection for push in engine.clients.all() if engine.clients.is_live(push.client)] == [newest]


def test_clock_that_was_ahead_hides_no_later_loss_of_a_gateway(fleet: Fleet) -> None:
    for gateway, ahead_ms in (("gw-1", 6 * HOUR), ("gw-2", 0)):
        fleet.now = NOW + ahead_ms
        fleet.heartbeat(gateway=gateway)
    fleet.conditions.report(Condition("OP001", gateway_subject("c", 1, "gw-2"), True, "high", "no heartbeats", NOW + MINUTE))
    fleet.later(2 * MINUTE)
    assert [each.code for each in fleet.findings()] == ["OP001"]


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize("back_ms", [-1, 50, HOUR])
def test_erased_client_is_named_no_more_though_its_tombstone_seems_older(fleet: Fleet, back_ms: int, is_compacted: bool) -> None:
    fleet.write()
    fleet.push(instance=1, settings=LEAK)
    fleet.later(SECOND)
    (erased,) = [client for each in fleet.findings() for client in each.clients]
    if is_compacted:  # the job starts again, and finds no push any more
        fleet.pushes = [(NOW, None)]
        fleet.start()
    fleet.now = NOW - back_ms
    fleet.erase(erased.key)
    fleet.now = NOW
    fleet.later()
    assert not fleet.published, "nobody else had it"


@pytest.mark.parametrize("overtakes", [False, True])
@pytest.mark.parametrize("back_ms", [0, 50, HOUR])
def test_newest_of_several_of_the_same_names_counts_as_connected(engine: FindingsEngine, back_ms: int, overtakes: bool) -> None:
    """An application restarts as another instance, just after the clock of the leader of its topic has gone back."""
    if not overtakes:
        engine.changes(NOW)
    engine.apply(connected([(NOW, OPENED)]))
    for offset, at_ms in enumerate([NOW, NOW + 10 - back_ms]):
        engine.apply(pushed([(at_ms, instance(offset))], begin=offset), overtake=overtakes and not offset)
        engine.changes(NOW)
    engine.changes(NOW + 2 * HOUR)
    assert [push.connection for push in engine.clients.all() if engine.clients.is_live(push.client)] == [1]


def test_clock_that_was_ahead_drops_no_newer_push_in_another_partition(engine: FindingsEngine) -> None:
    """The topic grows between the client's two pushes; another client's push before them had a time of tomorrow."""
    engine.changes(NOW)
    ahead, before = pushes_of(2, NOW + 24 * HOUR, "another-canary"), pushes_of(1, NOW, "old-canary")
    engine.apply([*ahead, *(replace(row, offset=1) for row in before)])
    engine.apply(pushes_of(1, NOW + SECOND, "hunter2-canary", partition=1))
    newest = {push.client_id: (push.partition, push.appended_ms) for push in engine.clients.all()}
    assert newest["app-1"] == (1, NOW + SECOND)


@given(jumping, st.integers(0, 2**32))
@example(told("returns 0 0, clock jumps 1 0, pushes 0 1"), 0)  # what is corrected is resolved
@example(told("returns 0 2, clock jumps 0 0, pushes 0 1, pushes 0 2, leaves 0 0"), 0)  # what is back is open
@example(told("returns 0 0, pushes 0 1, clock jumps 0 0, pushes 0 0, pushes 0 1, leaves 0 0"), 0)  # or over again
@example(told("returns 0 0, is erased 0 0, clock jumps 0 0, returns 0 0, returns 0 1"), 0)  # it is here again
def test_clock_that_jumps_changes_nothing_but_times(history: list[Step], seed: int) -> None:
    order = random.Random(seed)  # noqa: S311  # an order, no secret
    records = Records(history)
    jumped, steady = Job(records.written, order), Job(Records(history, jumps=False).written, order)
    for job in (jumped, steady):
        job.engine.changes(NOW)  # the start is over
        job.read_what_is_new(most=8)
    now_ms = records.now + 22 * MINUTE
    newest = {push.client: push.offset for push in jumped.engine.clients.all()}
    assert newest == {push.client: push.offset for push in steady.engine.clients.all()}
    assert without_times(known(jumped.engine, now_ms)) == without_times(known(steady.engine, now_ms))


@pytest.mark.parametrize("reverse", [False, True])
def test_an_application_s_last_change_is_found_in_any_order(reverse: bool) -> None:
    records = Records(told("starts 0 0, leaves 0 0, starts 2 1, leaves 2 0, starts 4 0"))
    pushes = [replace(each, partition=number) for number, each in enumerate(filterfalse(is_event, records.written))]
    job = Job([], random.Random(0))  # noqa: S311  # an order, no secret
    job.read([[*filter(is_event, records.written)]])
    job.read([pushes[::-1] if reverse else pushes])
    assert only(job.engine, "AN401", records.now).evidence == ("acks: 0 before, all now",)


@pytest.mark.parametrize("keys", [("db.password", "sasl.password"), ("sasl.password", "db.password")])
def test_of_two_pushes_of_one_moment_the_same_one_is_named_in_any_order(keys: tuple[str, str]) -> None:
    found = []
    for reverse in (False, True):
        records = Records([])
        for number, key in enumerate(keys):
            record = config_record(setting(key, "hunter2-canary"), client_id=f"app-{'ab'[number]}", instance_id=UUID(int=number + 1))
            records.written += pushed([(records.now, record)], begin=number)
        job = Job(records.written[::-1] if reverse else records.written, random.Random(0))  # noqa: S311  # an order, no secret
        job.read_what_is_new()
        leak = only(job.engine, "SK001", records.now)
        found.append((leak.message, leak.settings, leak.application))
    assert found[0] == found[1]


def pushes_of(instance: int, at_ms: int, value: str, partition: int = 0) -> list[PushResult]:
    """What the engine gets of one push of a secret."""
    record = config_record(setting("sasl.password", value), client_id=f"app-{instance}", instance_id=UUID(int=instance))
    return pushed([(at_ms, record)], partition=partition)


@pytest.mark.parametrize("tombstone_first", [False, True])
@pytest.mark.parametrize(("erased_ms", "stays"), [(-HOUR, True), (-1, True), (1, False), (HOUR, False)])
def test_f49_late_tombstone_erases_no_newer_push(engine: FindingsEngine, erased_ms: int, stays: bool, tombstone_first: bool) -> None:
    """A key's tombstone may be in another partition than its client's next push."""
    push = pushes_of(1, NOW, "hunter2-canary", partition=1)
    tombstone = tombstones([(NOW + erased_ms, push[0].client.encode())])
    for batch in (tombstone, push) if tombstone_first else (push, tombstone):
        engine.apply(batch)
    changes = engine.changes(NOW + HOUR + SECOND)
    assert [record.code for record in changes.values() if record] == ["SK001"] * stays
    assert (engine.sizes()["records"], engine.sizes()["findings"]) == (stays, stays)


def test_tombstone_counts_for_minutes_for_what_its_client_pushed_before(engine: FindingsEngine) -> None:
    """Pushes come by another topic."""
    engine.changes(NOW)
    push = pushes_of(1, NOW, "hunter2-canary")
    engine.apply(tombstones([(NOW + SECOND, push[0].client.encode())], begin=1))
    engine.changes(NOW + 5 * MINUTE)
    engine.apply(push)
    assert engine.sizes()["findings"] == 0


@pytest.mark.parametrize(
    ("instance", "shift_ms", "rotated"),
    [(1, 1, True), (1, -1, False), (2, 1, True), (2, 0, False), (2, -1, False)],
    ids=["newer", "older", "newer, of another client", "of the same moment", "older, of another client"],
)
def test_f49_older_push_does_not_say_that_a_newer_secret_was_rotated(
    engine: FindingsEngine, instance: int, shift_ms: int, rotated: bool
) -> None:
    """What is read first is pushed at `NOW`, and another secret under the same key is read after it."""
    read_first = pushes_of(1, NOW, "hunter2-canary")
    engine.apply(read_first)
    engine.apply(pushes_of(instance, NOW + shift_ms, "another-canary", partition=1))
    digest = KEY.digest("hunter2-canary").hex()
    first = engine.changes(NOW + SECOND)[secret_fingerprint(digest)]
    assert first is not None
    assert [note.startswith("Another value is pushed") for note in first.evidence] == [True] * rotated
