"""Ports of a gateway in front of a whole cluster: one for each broker id."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple

from clientscope.config import GatewaySettings
from clientscope.config_types import split_address, split_ports
from clientscope.errors import SettingsError


class BrokerPorts(NamedTuple):
    """The gateway's addresses of brokers.

    Attributes:
        host: the gateway's name, as clients resolve it.
        first: port of the broker with the id ``first_id``; the next id has the next port.
        number: of ports.
    """

    host: str
    first: int
    number: int
    first_id: int = 0

    @classmethod
    def of_settings(cls, settings: GatewaySettings) -> BrokerPorts:
        """As the settings have them.

        Raises:
            SettingsError: they clash with another port, or no client could connect to the host.
        """
        ports = split_ports(settings.broker_ports)
        host, bootstrap = split_address(settings.listen)
        for name in ("listen", "metrics_listen", "admin_listen"):
            if (port := split_address(getattr(settings, name))[1]) in ports:
                raise SettingsError(f"{name} has port {port}, which is one of broker_ports {settings.broker_ports}", "choose another port")
        if not bootstrap:
            raise SettingsError("listen has port 0, but clients must know the bootstrap port", "choose a port")
        if not settings.advertised_host and _is_any(host):
            raise SettingsError(
                f"clients can't connect to {host}, the host in listen", "set advertised_host to the gateway's name, as clients resolve it"
            )
        return cls(settings.advertised_host or host, ports[0], len(ports), settings.first_broker_id)

    def of(self, broker_id: int) -> tuple[str, int] | None:
        """Host and port of a broker; None where its id has no port."""
        place = broker_id - self.first_id
        return (self.host, self.first + place) if 0 <= place < self.number else None


def _is_any(host: str) -> bool:
    try:
        return int(ip_address(host)) == 0  # 0.0.0.0 or ::
    except ValueError:
        return False
