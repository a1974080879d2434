"""Messages due for each receiver: findings compared with what was delivered. No I/O, no clock."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from clientscope.errors import RecordError
from clientscope.findings.record import Finding
from clientscope.topic_values import parse
from sinks.alerts import damping
from sinks.alerts.message import Message, ordered
from sinks.alerts.progress import (
    MOST_MEMBERS,
    DeliveryPlan,
    Disabled,
    LastDelivery,
    Request,
    Status,
    group_name,
    kind_of,
    last_delivery_key,
    message_id,
)
from sinks.alerts.receivers import Receiver, Receivers
from sinks.alerts.times import moment

_log = logging.getLogger(__name__)


def fires(finding: Finding) -> bool:
    """Whether a finding is delivered as firing; a stopped leak is, since it must still be rotated."""
    return (
        finding.alert is not None and finding.confidence == "high" and finding.suppressed is None and finding.state in ("open", "stopped")
    )


class DeliveryBook:
    """All findings and, for each receiver of messages, what was delivered and what is still to be delivered."""

    def __init__(self, receivers: Receivers) -> None:
        self._receivers = {receiver.name: receiver for receiver in receivers.every if receiver.kind.sender}
        self._silences = receivers.silences
        self.findings: dict[str, Finding] = {}
        self.undecodable = 0
        self.plans: dict[str, DeliveryPlan] = {}
        self.disabled: dict[str, Disabled] = {}
        self.requests: dict[str, Request] = {}
        self._last_deliveries: dict[tuple[str, str], LastDelivery] = {}
        self._planned: Counter[tuple[str, str]] = Counter()
        self._pending: dict[str, dict[str, tuple[Status, str, int]]] = {name: {} for name in self._receivers}
        self._last: dict[tuple[str, str], int] = {}
        self.held: dict[str, int] = dict.fromkeys(self._receivers, 0)

    def take_findings(self, news: Mapping[str, bytes | None], now_ms: int) -> list[str]:
        """Records of ``clientscope.findings``; returns the fingerprints of which there is news."""
        for fingerprint, value in news.items():
            if value is None:
                self.findings.pop(fingerprint, None)
            else:
                try:
                    self.findings[fingerprint] = parse(Finding, value)
                except RecordError:
                    self.undecodable += 1
                    continue
            self._look(fingerprint, now_ms)
        return list(news)

    def take_progress(self, news: Mapping[str, bytes | None], now_ms: int) -> None:
        """Records of ``clientscope.deliveries``, as read at the start; of others' alone once we deliver."""
        for key, value in news.items():
            if value is None:
                self.forget(key)
                continue
            try:
                match kind_of(key):
                    case "told":
                        self.delivered([parse(LastDelivery, value)], now_ms)
                    case "plan":
                        self.plan(parse(DeliveryPlan, value))
                    case "disabled":
                        disabled = parse(Disabled, value)
                        self.disabled[disabled.receiver] = disabled
                    case "request":
                        self.requests[key] = parse(Request, value)
            except RecordError:
                self.undecodable += 1

    def delivered(self, deliveries: Iterable[LastDelivery], now_ms: int) -> None:
        """Notes that messages were delivered, or given up."""
        for one in deliveries:
            self._last_deliveries[one.receiver, one.fingerprint] = one
            if one.status != "dead":
                place = (one.receiver, one.group)
                last_ms = self._last.get(place, 0)
                # A time ahead of this clock is of one that was set back since: the next delivery counts in its place.
                self._last[place] = one.at_ms if last_ms > now_ms else max(last_ms, one.at_ms)
            self._look(one.fingerprint, now_ms)

    def plan(self, plan: DeliveryPlan) -> None:
        """A message that is to be sent; its findings have no other until it is settled."""
        self.unplan(plan.key)
        self.plans[plan.key] = plan
        for fingerprint, _ in plan.members:
            self._planned[plan.receiver, fingerprint] += 1

    def unplan(self, key: str) -> None:
        """Removes a plan that is settled."""
        plan = self.plans.pop(key, None)
        for fingerprint, _ in plan.members if plan else ():
            place = (plan.receiver, fingerprint) if plan else ("", "")
            self._planned[place] -= 1
            if not self._planned[place]:
                del self._planned[place]

    def forget(self, key: str) -> None:
        """A tombstone."""
        self.unplan(key)
        self.requests.pop(key, None)
        self.disabled = {name: one for name, one in self.disabled.items() if one.key != key}

    def last_delivery(self, receiver: str, fingerprint: str) -> LastDelivery | None:
        """What was last delivered to a receiver about a finding."""
        return self._last_deliveries.get((receiver, fingerprint))

    def forgotten(self) -> list[str]:
        """Removes deliveries whose finding or receiver no longer exists; returns their keys."""
        gone = [place for place in self._last_deliveries if place[1] not in self.findings]
        for place in gone:
            del self._last_deliveries[place]
        return [last_delivery_key(*place) for place in gone]

    def _look(self, fingerprint: str, now_ms: int) -> None:
        """Updates what is to be delivered of one finding, for each receiver."""
        finding = self.findings.get(fingerprint)
        for name, receiver in self._receivers.items():
            status = _status_to_deliver(finding, self._last_deliveries.get((name, fingerprint)), receiver)
            pending = self._pending[name]
            if status is None:
                pending.pop(fingerprint, None)
            elif finding is not None:
                before = pending.get(fingerprint)
                since_ms = before[2] if before and before[0] == status else now_ms
                pending[fingerprint] = (status, group_name(status, receiver.group(finding)), since_ms)

    def due(self, name: str, now_ms: int) -> list[Message]:
        """Messages to one receiver whose time has come; each is to be written down (`plan`) before it is sent."""
        receiver, pending = self._receivers[name], self._pending[name]
        self.held[name] = 0
        if not pending or name in self.disabled:
            return []
        now = moment(now_ms)
        groups: defaultdict[tuple[Status, str], list[tuple[Finding, int]]] = defaultdict(list)
        for fingerprint, (status, group, since_ms) in pending.items():
            finding = self.findings[fingerprint]
            if (name, fingerprint) in self._planned:
                continue
            if any(silence.holds(name, finding, now) for silence in self._silences) or self._is_held(name, finding, now_ms):
                self.held[name] += 1
                continue
            groups[status, group].append((finding, since_ms))
        made = []
        for (status, group), members in groups.items():
            first_ms = min(since_ms for _, since_ms in members)
            last_ms = self._last.get((name, group))
            # A time ahead of this clock is of one that was set back since, and holds nothing up.
            gathers = first_ms <= now_ms < first_ms + receiver.group_wait_ms
            if gathers or (last_ms is not None and last_ms <= now_ms < last_ms + receiver.group_interval_ms):
                continue
            made.append(self._message(receiver, status, group, [finding for finding, _ in members][:MOST_MEMBERS], now_ms))
        return made

    def oldest_ms(self, name: str) -> int | None:
        """Time since which a change has been undelivered; None where all is delivered."""
        waiting = [since_ms for _, _, since_ms in self._pending[name].values()]
        waiting += [plan.created_ms for plan in self.plans.values() if plan.receiver == name]
        return min(waiting, default=None)

    def undelivered(self, name: str) -> int:
        """Number of findings with a change that is not delivered yet."""
        return len(self._pending[name])

    def message(self, plan: DeliveryPlan) -> Message | None:
        """A plan of an earlier process, or one that is replayed, as a message; None where its findings are gone."""
        findings = [self.findings[fingerprint] for fingerprint, _ in plan.members if fingerprint in self.findings]
        return Message(plan, ordered(findings)) if findings else None

    def _is_held(self, name: str, finding: Finding, now_ms: int) -> bool:
        last = self._last_deliveries.get((name, finding.fingerprint))
        return last is not None and damping.is_held(finding, last.times_ms, self._receivers[name].damping, now_ms)

    def _message(self, receiver: Receiver, status: Status, group: str, findings: list[Finding], now_ms: int) -> Message:
        members, damped = [], set()
        for finding in findings:
            last = self._last_deliveries.get((receiver.name, finding.fingerprint))
            number = finding.alert.number if status == "firing" and finding.alert else last.number if last else 0
            members.append((finding.fingerprint, number))
            times = damping.with_time(last.times_ms if last else (), now_ms)
            if status == "firing" and damping.is_damped(times, receiver.damping, now_ms):
                damped.add(finding.fingerprint)
        plan = DeliveryPlan(
            receiver=receiver.name,
            id=message_id(receiver.name, status, members),
            status=status,
            group=group,
            members=members,
            created_ms=now_ms,
        )
        return Message(plan, ordered(findings), frozenset(damped) if receiver.damping.after > 1 else frozenset())


def _status_to_deliver(finding: Finding | None, last: LastDelivery | None, receiver: Receiver) -> Status | None:
    """The status of a finding that is still to be delivered to a receiver; None if there is none."""
    if finding is None:
        return None
    if fires(finding):
        # Numbers only grow, unless the finding began anew: then it hasn't been delivered.
        new = finding.alert is not None and (last is None or last.number != finding.alert.number)
        return "firing" if new and receiver.wants(finding) else None
    return "ended" if last is not None and last.status == "firing" and receiver.resolved else None
