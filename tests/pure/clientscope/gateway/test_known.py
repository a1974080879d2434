"""gateway/known: a client's later connections without a name are recognised, and no other client's."""

from __future__ import annotations

from dataclasses import replace

from clientscope.gateway import registry as known
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.session.state import Identity

SAID = Identity("app", "franz-go", "1.22", principal="User:alice")
SILENT = Identity("app", principal="User:alice")


def test_client_id_address_and_principal_together() -> None:
    clients = known.KnownClients()
    clients.said("10.0.0.1", SAID)
    assert clients.infer("10.0.0.1", SILENT) == ("franz-go", "1.22")
    for other in (replace(SILENT, client_id="other"), replace(SILENT, client_id=None), replace(SILENT, principal=None), SAID):
        assert clients.infer("10.0.0.1", other) is None
    assert clients.infer("10.0.0.2", SILENT) is None


def test_the_longest_ago_is_forgotten() -> None:
    clients = known.KnownClients()
    for number in range(10_001):
        clients.said(f"address-{number}", SAID)
        clients.said("address-0", SAID)
    assert clients.infer("address-0", SILENT) is not None
    assert clients.infer("address-1", SILENT) is None
    assert clients.infer("address-2", SILENT) is not None


def test_an_inferred_name_enters_no_gauge() -> None:
    registry = ConnectionRegistry(GatewayPlace("cluster", 1, "gateway", 0, "CLIENT"))
    registry.opened(0, "10.0.0.1", 0)
    registry.identified(0, SAID, 0)
    registry.opened(1, "10.0.0.1", 0)
    registry.identified(1, SILENT, 0)
    assert registry.counts() == {("franz-go", "1.22"): 1, ("unknown", "unknown"): 1}
    assert [c.inferred for c in registry.listing()] == [None, ("franz-go", "1.22")]
