"""Packets of a capture (pcap, pcapng) → the data that TCP clients sent, in order."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import IO, Any, NamedTuple

import dpkt

from clientscope.errors import SettingsError

MOST_PACKET = 1024 * 1024
"""Bytes of a packet or a block of the file; libpcap's own limit is 262,144."""
MOST_STREAMS = 100_000
"""Streams at a time; of more, the one that was silent longest is forgotten."""
_MOST_EARLY = 64
_ETHERNET, _RAW, _LOOPBACK, _SLL, _SLL2 = (1,), (12, 14, 101, 228, 229), (0, 108), (113,), (276,)

Flow = tuple[bytes, int, bytes, int]
"""Address and port of the client, then of the broker."""


class Sent(NamedTuple):
    """Bytes that a client sent.

    Attributes:
        at: in seconds since the epoch.
        begins: whether anything before them is missing: the capture began later, or a packet is lost.
    """

    flow: Flow
    at: float
    data: bytes
    begins: bool


class _Bounded:
    """A file that gives no more at once than `MOST_PACKET`, whatever a length in it says."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.name = "capture"
        self.size = 0

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MOST_PACKET:
            raise ValueError(f"a packet of {size} bytes")
        data = self._file.read(size)
        self.size += len(data)
        return data

    def seek(self, place: int) -> None:
        self._file.seek(place)


class _Stream:
    """One direction of a connection.

    Attributes:
        following: sequence number of the next byte; None before the first.
        early: segments that came before what they follow.
    """

    __slots__ = ("begins", "early", "following")

    def __init__(self) -> None:
        self.following: int | None = None
        self.early: dict[int, bytes] = {}
        self.begins = True

    def add(self, sequence: int, data: bytes, is_first: bool) -> Iterator[tuple[bytes, bool]]:
        """The bytes that are next by this segment, each with whether something before them is missing."""
        if is_first:
            self.following, self.early, self.begins = (sequence + 1) & 0xFFFFFFFF, {}, True
            return
        if not data:
            return
        if self.following is None:
            self.following = sequence
        self.early[sequence] = data
        yield from self._ready()
        if len(self.early) > _MOST_EARLY:
            yield from self.rest()

    def rest(self) -> Iterator[tuple[bytes, bool]]:
        """The same of what waits for bytes that won't come any more: the capture has none of them."""
        while self.early:
            self.following, self.begins = min(self.early, key=lambda each: (each - (self.following or 0)) & 0xFFFFFFFF), True
            yield from self._ready()

    def _ready(self) -> Iterator[tuple[bytes, bool]]:
        while (found := self._next()) is not None:
            yield found, self.begins
            self.begins = False

    def _next(self) -> bytes | None:
        assert self.following is not None
        for sequence in list(self.early):
            before = (self.following - sequence) & 0xFFFFFFFF
            if before < 0x80000000:  # begins there, or earlier: sent again
                data = self.early.pop(sequence)[before:]
                if data:
                    self.following = (self.following + len(data)) & 0xFFFFFFFF
                    return data
        return None


class Packets:
    """Reads one capture.

    Attributes:
        size: bytes of the file so far.
        stopped: why reading ended before the file did; empty if it didn't.

    Args:
        ports: of the brokers' listeners.
        most: bytes of the file that are read.
    """

    def __init__(self, file: IO[bytes], name: str, ports: Collection[int], most: int) -> None:
        """
        Raises:
            SettingsError: it is no capture.
        """
        self._file = _Bounded(file)
        self._ports, self._most = frozenset(ports), most
        self._streams: OrderedDict[Flow, _Stream] = OrderedDict()
        self.stopped = ""
        self._at = 0.0
        try:
            self._reader: Any = dpkt.pcap.UniversalReader(self._file)
        except (ValueError, dpkt.Error) as error:
            raise SettingsError(f"{name}: not a capture in the format pcap or pcapng", "tcpdump -w writes one") from error

    @property
    def size(self) -> int:
        """Bytes of the file that were read."""
        return self._file.size

    def sent(self) -> Iterator[Sent]:
        """What clients sent to these ports."""
        packets = iter(self._reader)
        while True:
            if self.size >= self._most:
                self.stopped = f"reading stopped after --max-bytes {self._most:,}"
                break
            try:
                at, packet = next(packets)
            except StopIteration:
                break
            except (ValueError, dpkt.Error, TypeError, IndexError) as error:
                self.stopped = f"the file is cut off or damaged: {str(error)[:80] or type(error).__name__}"
                break
            self._at = float(at)
            yield from self._of(packet)
        for flow, stream in self._streams.items():
            for each, begins in stream.rest():
                yield Sent(flow, self._at, each, begins)

    def _of(self, packet: bytes) -> Iterator[Sent]:
        try:
            network = _network(self._reader.datalink(), packet)
            segment = network.data if network is not None else None
            if not isinstance(segment, dpkt.tcp.TCP) or segment.dport not in self._ports:
                return
            flow = network.src, segment.sport, network.dst, segment.dport
            data = bytes(segment.data)
        except (dpkt.Error, AttributeError, IndexError, ValueError):
            return
        stream = self._streams.pop(flow, None) or _Stream()
        self._streams[flow] = stream
        if len(self._streams) > MOST_STREAMS:
            self._streams.popitem(last=False)
        for each, begins in stream.add(segment.seq, data, bool(segment.flags & dpkt.tcp.TH_SYN)):
            yield Sent(flow, self._at, each, begins)


def address(packed: bytes) -> str:
    """An address as Kafka writes it."""
    return str(ipaddress.ip_address(packed))


def _network(link: int, packet: bytes) -> Any:
    """The IP packet in a frame; None for anything else."""
    if link in _ETHERNET:
        inner = dpkt.ethernet.Ethernet(packet).data
    elif link in _SLL:
        inner = dpkt.sll.SLL(packet).data
    elif link in _SLL2:
        inner = dpkt.sll2.SLL2(packet).data
    elif link in _LOOPBACK:
        inner = _ip(packet[4:])
    elif link in _RAW:
        inner = _ip(packet)
    else:
        return None
    return inner if isinstance(inner, dpkt.ip.IP | dpkt.ip6.IP6) else None


def _ip(packet: bytes) -> Any:
    return dpkt.ip6.IP6(packet) if packet[:1] and packet[0] >> 4 == 6 else dpkt.ip.IP(packet)
