"""F11: coverage-guided fuzzing of what reads a PushConfig request (Atheris, libFuzzer); `make test-long` runs it 10^6 times.

What is fuzzed follows the frame's length and the header's first eight bytes, so that each input is a push. However wrong, it must be
answered, and the request behind it be read. A crash, a hang (10 s) or memory beyond 512 MB ends it, with the input in a file.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["clientscope.session", "clientscope.wire", "kafka.protocol"]):
    from clientscope.session.session import Session
    from clientscope.session.state import ToBroker
    from clientscope.wire.frames import Passed
    from clientscope.wire.messages import PushConfigRequest

_MOST_BYTES = 10_240
_HEAD = struct.pack(">hhi", 1324, 0, 1)
_NEXT = struct.pack(">ihhi", 8, 1, 4, 7)


def one_input(data: bytes) -> None:
    """A connection whose client sends ``data`` as a push, and then a fetch."""
    body = _HEAD + data
    session = Session(True, _MOST_BYTES)
    *_, carrier, following = session.from_client(struct.pack(">i", len(body)) + body + _NEXT)
    assert isinstance(carrier, ToBroker), "the push has its turn"
    assert following == Passed(_NEXT), "the next request is read"


def _seeds(folder: Path) -> None:
    config = PushConfigRequest.Config(version=0, config_key="acks", config_value="all", config_type=1, is_default=True)
    for number, configs in enumerate(([], [config], [config] * 11)):
        body = PushConfigRequest(version=0, configs=configs).encode()
        (folder / str(number)).write_bytes(b"\xff\xff\0" + body)  # no client id, no tags


def main() -> None:
    """Flags are libFuzzer's: -runs=1000000 ends it."""
    with tempfile.TemporaryDirectory() as corpus:
        _seeds(Path(corpus))
        limits = ["-timeout=10", "-rss_limit_mb=512", f"-max_len={2 * _MOST_BYTES}"]
        atheris.Setup([sys.argv[0], *limits, *sys.argv[1:], corpus], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
