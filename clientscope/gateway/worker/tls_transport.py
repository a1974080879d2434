"""TLS over uvloop's TCP.

uvloop's own TLS keeps 256 KiB for each connection, and OpenSSL's input as large as the largest read of the socket; even while reading is
paused, it takes half a megabyte off the socket. 10,000 clients that may connect could make a worker hold gigabytes which no
budget knows. Here nothing stays between two reads but what OpenSSL needs of a record (16 KiB), and what isn't to be read stays in the
socket, where TCP's window stops the sender.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any, cast

_RECORD_BYTES = 16 * 1024
"""What a record of TLS holds at most (RFC 8446, 5.1). Memory BIOs grow to what is written to them at once, and never shrink."""


class TlsTransport(asyncio.Protocol, asyncio.Transport):
    """The protocol of a socket, and the transport of another protocol, which is connected once the handshake is done and sees plain bytes.

    Args:
        app: gets what a socket's protocol gets. TLS has no half-close: the connection ends after its `eof_received`.
        server_hostname: what the peer's certificate has to name; None on the server's side.
    """

    __slots__ = ("_app", "_closing", "_connected", "_error", "_incoming", "_object", "_outgoing", "_ready", "_socket")

    def __init__(self, context: ssl.SSLContext, app: asyncio.Protocol, server_hostname: str | None = None) -> None:
        super().__init__()
        self._app = app
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname is None, server_hostname)
        self._socket: asyncio.Transport
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connected = self._closing = False
        self._error: ssl.SSLError | None = None

    async def shake_hands(self) -> None:
        """Waits until the handshake is done. Where that fails, or isn't waited for, the connection ends.

        Raises:
            OSError: it failed: an `ssl.SSLError`, or the connection is lost.
        """
        try:
            await self._ready
        except BaseException:
            self._socket.close()  # not before an alert has gone out that says why
            raise

    # A socket's protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        self._handshake()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        view, received, ended = memoryview(data), list[bytes](), False
        for start in range(0, len(view), _RECORD_BYTES):
            self._incoming.write(view[start : start + _RECORD_BYTES])
            if self._connected or self._handshake():
                if ended := self._decrypt(received):
                    break
            elif self._ready.done():  # it failed
                break
        self._flush()  # a reply of TLS itself, such as to a new key
        if received and not self._closing:
            self._app.data_received(b"".join(received))
        if ended and not self._closing:
            self._app.eof_received()
            self.close()

    def eof_received(self) -> None:
        """The socket closes itself then."""

    def pause_writing(self) -> None:
        if self._connected:
            self._app.pause_writing()

    def resume_writing(self) -> None:
        if self._connected:
            self._app.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if self._connected:
            self._app.connection_lost(self._error or exc)
        elif not self._ready.done():
            self._ready.set_exception(exc or ConnectionResetError("the peer ended the connection within the handshake"))

    # The other's transport.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing:
            return
        view, encrypted = memoryview(data), []
        try:
            for start in range(0, len(view), _RECORD_BYTES):
                self._object.write(view[start : start + _RECORD_BYTES])
                encrypted.append(self._outgoing.read())
        except ssl.SSLError as error:
            self._fail(error)
        else:
            self._socket.write(b"".join(encrypted))

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            with suppress(ssl.SSLError):  # the peer's own close_notify is not waited for
                self._object.unwrap()
            self._flush()
            self._socket.close()

    def abort(self) -> None:
        self._closing = True
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._closing or self._socket.is_closing()

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._socket.resume_reading()

    def is_reading(self) -> bool:
        return self._socket.is_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._socket.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._object.getpeercert() if name == "peercert" else self._socket.get_extra_info(name, default)

    # What OpenSSL makes of it.

    def _handshake(self) -> bool:
        """Continues the handshake; returns whether it is done."""
        if self._ready.done():  # it failed
            return False
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()
            self._closing = True
            self._ready.set_exception(error)
            return False
        self._flush()
        self._connected = True
        self._ready.set_result(None)
        self._app.connection_made(self)
        return True

    def _decrypt(self, received: list[bytes]) -> bool:
        """Adds what is plain now; whether that was the last: by the peer's end, or a failure."""
        try:
            while piece := self._object.read(_RECORD_BYTES):
                received.append(piece)
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLZeroReturnError:
            return True
        except ssl.SSLError as error:
            self._fail(error)
        return True

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._socket.write(self._outgoing.read())

    def _fail(self, error: ssl.SSLError) -> None:
        """Ends the connection: an alert says why, unless the peer has not even read what was sent before."""
        self._closing = True
        self._error = error
        self._flush()
        if self._socket.get_write_buffer_size():
            self._socket.abort()
        else:
            self._socket.close()
