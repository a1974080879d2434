"""Events and commands of a connection: what goes into `ClientConnection.handle`, and what comes out.

None of them is changed once it is made. They and the session's commands aren't frozen: `frozen` takes 0.4 µs for each
(its `__init__` goes through `object.__setattr__`), and opening a connection makes some twenty.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from clientscope.session.state import Counted, Identified, MetricsPushed, OtherCluster, PushAnswer, Pushed, Requested, Shown


class Side(Enum):
    """One end of a connection."""

    CLIENT = "client"
    BROKER = "broker"

    __hash__ = object.__hash__


CLIENT, BROKER = Side.CLIENT, Side.BROKER


# Events.


@dataclass(slots=True)
class Connected:
    """A side is there: the client's first, then the broker's.

    Attributes:
        half_closes: whether one direction of it can end before the other: not so in TLS.
        now_s: seconds of the clock that `Tick` has.
    """

    side: Side
    half_closes: bool = True
    now_s: float = 0.0


@dataclass(slots=True)
class Certified:
    """The client has shown a certificate, which names this principal, in Kafka's spelling."""

    principal: str


@dataclass(slots=True)
class Received:
    """Bytes from a side."""

    side: Side
    data: bytes


@dataclass(slots=True)
class Eof:
    """A side sends no more."""

    side: Side


@dataclass(slots=True)
class Disconnected:
    """A side is gone, and takes no more either.

    Attributes:
        reset: whether by an error, such as a RST, rather than by its end.
    """

    side: Side
    reset: bool = False


@dataclass(slots=True)
class Full:
    """Bytes that were sent to a side are unsent."""

    side: Side


@dataclass(slots=True)
class Free:
    """All that was sent to a side has left."""

    side: Side


@dataclass(slots=True)
class PushAnswered:
    """The policy's answer to a push."""

    token: int
    answer: PushAnswer


@dataclass(slots=True)
class Woken:
    """The time of a `Wake` has come."""

    side: Side


@dataclass(slots=True)
class Tick:
    """Time goes by; a connection that overstays ends.

    Attributes:
        now_s: seconds; never goes back.
        unauthenticated_s: how long a client may take until the broker has accepted it.
        idle_s: how long no byte may move.
    """

    now_s: float
    unauthenticated_s: float
    idle_s: float


@dataclass(slots=True)
class Draining:
    """No further request is taken, and the connection ends once the broker has answered what it has; comes again until then."""

    now_s: float


@dataclass(slots=True)
class Bypassed:
    """Nothing is read any more, from the first moment at which no side notices; repeated until then."""


@dataclass(slots=True)
class Stop:
    """All connections together hold too much: nothing is read from either side."""


@dataclass(slots=True)
class Continue:
    """Takes `Stop` back."""


@dataclass(slots=True)
class Ended:
    """The gateway ends it, for this reason; one that ends in ``_reset`` drops what is unsent."""

    reason: str


ConnectionEvent = (
    Connected
    | Certified
    | Received
    | Eof
    | Disconnected
    | Full
    | Free
    | PushAnswered
    | Woken
    | Tick
    | Draining
    | Bypassed
    | Stop
    | Continue
    | Ended
)


# Commands, besides Identified, Requested, Shown, Counted, MetricsPushed and Pushed.


@dataclass(slots=True)
class Send:
    """Send these bytes to a side."""

    side: Side
    data: bytes | memoryview


@dataclass(slots=True)
class Pause:
    """Read nothing from a side."""

    side: Side


@dataclass(slots=True)
class Resume:
    """Read from it again."""

    side: Side


@dataclass(slots=True)
class HalfClose:
    """Say to a side that no more will come."""

    side: Side


@dataclass(slots=True)
class Wake:
    """Bring `Woken` after so many seconds."""

    side: Side
    seconds: float


@dataclass(slots=True)
class End:
    """The connection has ended: close both sides, once what is written has left.

    Attributes:
        reason: a counter's label.
        reset: whether what is unsent is dropped.
    """

    reason: str
    reset: bool = False


News = Identified | Requested | Shown | Counted | MetricsPushed | OtherCluster | Pushed
"""What a connection reports to its process."""

ConnectionCommand = Send | Pause | Resume | HalfClose | Wake | End | News
