"""Protection of the policy: refuses pushes of clients that cause failures, and opens a circuit if many fail; pure, time is passed in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from clientscope.policy.interface import RequestContext

MOST_CLIENTS = 10_000


def client_of(context: RequestContext) -> Hashable:
    """The client that a push is counted for: the principal's client instance, or, without an id, its principal, client.id and address."""
    if context.client_instance_id is not None:
        return context.client_key
    return context.principal, context.client_id, context.client_address


class PolicyGuard:
    """Remembers on whose push the policy's process ended, and opens a circuit once that happens to one client after the other.

    Args:
        penalty_s: how long such a client is throttled.
        failures: so many different clients in a row, and the policy is bypassed.
        bypass_s: for so long; the next failure after it opens the circuit again, the next success closes it for good.
    """

    def __init__(self, penalty_s: float = 30.0, failures: int = 5, bypass_s: float = 30.0) -> None:
        self.penalty_s = penalty_s
        self.bypass_s = bypass_s
        self._failures = failures
        self._blocked: OrderedDict[Hashable, float] = OrderedDict()
        self._failed: set[Hashable] = set()
        self._bypassed_until = 0.0

    def wait_s(self, client: Hashable, now_s: float) -> float:
        """How long this client has to wait, 0 where it need not."""
        return max(0.0, self.bypass_left_s(now_s), self._blocked.get(client, 0.0) - now_s)

    def bypass_left_s(self, now_s: float) -> float:
        """How long the policy is still left alone, 0 where it isn't."""
        return max(0.0, self._bypassed_until - now_s)

    def failed(self, client: Hashable | None, now_s: float) -> bool:
        """The process ended on a push of this client, or by itself (None); whether the circuit opens by it."""
        if client is not None:
            self._blocked[client] = now_s + self.penalty_s
            self._blocked.move_to_end(client)
            if len(self._blocked) > MOST_CLIENTS:
                self._blocked.popitem(last=False)
        self._failed.add(client if client is not None else ("by itself", now_s))
        if len(self._failed) < self._failures:
            return False
        self.bypass(now_s)
        return True

    def succeeded(self) -> None:
        """A push was processed."""
        self._failed.clear()

    def bypass(self, now_s: float) -> None:
        """Opens the circuit."""
        self._bypassed_until = now_s + self.bypass_s
        # One more failure after it is enough.
        self._failed = {("earlier", number) for number in range(self._failures - 1)}
