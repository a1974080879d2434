"""Recognition of connections that send no software name, by other connections of the same client.

franz-go was seen to say its name on its first connection alone. A connection that says nothing is recognised by client id, address and
principal together; that is an inference, shown as such, and never counted.
"""

from __future__ import annotations

from collections import OrderedDict

from clientscope.catalog.sensitive_names import placeholder
from clientscope.session.state import UNKNOWN, Identity

_MOST = 10_000
_ANY = placeholder()
"""A client id that was redacted without a digest, so that its client is unknown."""


class KnownClients:
    """The software that each client said last; the 10,000 most recent clients."""

    def __init__(self) -> None:
        self._software: OrderedDict[tuple[str, str, str | None], tuple[str, str]] = OrderedDict()

    def said(self, address: str, identity: Identity) -> None:
        """Remembers what a connection said."""
        if identity.client_id and identity.client_id != _ANY and identity.software_name != UNKNOWN:
            key = (identity.client_id, address, identity.principal)
            self._software[key] = (identity.software_name, identity.software_version)
            self._software.move_to_end(key)
            if len(self._software) > _MOST:
                self._software.popitem(last=False)

    def infer(self, address: str, identity: Identity) -> tuple[str, str] | None:
        """Name and version of a connection that didn't say, if its client once did."""
        if identity.software_name != UNKNOWN or not identity.client_id:
            return None
        return self._software.get((identity.client_id, address, identity.principal))
