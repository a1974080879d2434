"""Whether the broker behind the gateway is of the topics' cluster: otherwise its clients would be recorded under that cluster's id.

At the start the broker itself is asked, by Metadata (KIP-78), which tells the same as DescribeCluster and does so before Kafka 2.8 too. A
listener with SASL answers ApiVersions alone, and even v5, which names a cluster (KIP-1242), is held against that cluster only once a
client has authenticated (Kafka 4.4.0). There, and where the broker isn't up yet, clients' Metadata answers are looked at
(`clientscope.session.addresses`).
"""

from __future__ import annotations

from contextlib import closing

from clientscope.config import GatewaySettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.gateway.place import GatewayPlace
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import connected, known_brokers

_ANSWERED_MS = 5_000


def require_same_cluster(settings: GatewaySettings, place: GatewayPlace) -> None:
    """Asks the broker behind the gateway of which cluster it is. Blocks.

    A listener with SASL, whose TLS passes untouched, or that wants a load balancer's header isn't asked. With broker ports the topics'
    cluster itself names its brokers.

    Raises:
        SettingsError: it is of another cluster.
    """
    if place.tls or place.sasl or settings.broker_ports or settings.upstream_proxy_protocol:
        return
    upstream = KafkaAccess(
        settings.upstream,
        "SSL" if settings.upstream_ssl_ca_location else "PLAINTEXT",
        ca=settings.upstream_ssl_ca_location,
        certificate=settings.upstream_ssl_certificate_location,
        key=settings.upstream_ssl_key_location,
        check_hostname=settings.upstream_ssl_endpoint_identification_algorithm == "https",
    )
    try:
        with closing(connected(upstream, "clientscope-gateway-start", _ANSWERED_MS)) as admin:
            other = known_brokers(admin).cluster_id
    except EnvironmentProblem:
        return  # it isn't up, or doesn't say
    if other and other != place.cluster_id:
        raise other_cluster(settings.upstream, other, place.cluster_id)


def other_cluster(upstream: str, other: str, cluster: str) -> SettingsError:
    """The error of a gateway whose upstream is of another cluster than its topics."""
    return SettingsError(
        f"--upstream {upstream} is a broker of cluster {other}, and --bootstrap-servers are of cluster {cluster}, under which its"
        " clients would be recorded",
        "let both name the same cluster; each cluster has gateways, and topics of clientscope, of its own",
    )
