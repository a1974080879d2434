"""F33: addresses that a message may go to. Refused when configured, and again by the resolved address when sent."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

import pytest
from alert_receivers import LOOPBACK, serving, status
from places import ROOT

from sinks.alerts import apprise_urls
from sinks.alerts.addresses import AddressRefused, Target, check, resolved
from sinks.alerts.sending import Route, post

EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))

NEVER = [
    "http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://100.100.100.200/",
    "http://168.63.129.16/", "http://192.0.0.192/", "http://[fe80::1]/", "http://0.0.0.0/", "http://[::]/", "http://224.0.0.1/",
    "http://255.255.255.255/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://[fd20:ce::254]/",
    "http://[::a9fe:a9fe]/", "http://[::ffff:0:169.254.169.254]/", "http://[2606:4700::5efe:169.254.169.254]/",
    "http://[fd00::200:5efe:169.254.169.254]/", "http://[64:ff9b:1::]/", "http://[64:ff9b:1:a9fe:a9:fe00::]/", "http://[64:ff9b:1::8.8.8.8]/",
    "http://[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]/", "http://[2001:0:a9fe:a9fe::]/", "http://[2001::5601:5601]/",
    "http://[2002:a9fe:a9fe:1::1]/", "http://[64:ff9b::100.100.100.200]/", "http://[::ffff:168.63.129.16]/", "http://[fec0::1]/",
]  # fmt: skip
ONLY_WHERE_ALLOWED = [
    "http://127.0.0.1/", "http://127.8.9.1:80/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://10.0.0.1/", "http://172.16.0.1/",
    "http://192.168.1.1/", "http://100.64.0.1/", "http://[fd12::1]/", "http://[64:ff9b::7f00:1]/", "http://192.0.2.7/",
    "http://192.0.0.8/", "http://192.88.99.1/", "http://198.18.0.1/", "http://198.19.255.255/", "http://198.51.100.1/", "http://203.0.113.1/",
    "http://100.127.255.255/", "http://172.31.255.255/", "http://[2002:7f00:1::]/", "http://[2002:808:808::]/", "http://[2001:db8::1]/",
    "http://[2001:0:808:808::f7f7:f7f7]/", "http://[3fff::1]/", "http://[::127.0.0.1]/", "http://[::ffff:0:10.0.0.1]/", "http://[100::1]/",
    "http://[2606:4700::5efe:10.0.0.1]/", "http://[2606:4700::200:5efe:127.0.0.1]/", "http://[5f00::1]/", "http://[4000::1]/",
    "http://[64:ff9b::192.168.0.1]/", "http://[64:ff9b:2::1]/",
]  # fmt: skip
NO_ADDRESS = [
    "http://0x7f000001/", "http://2130706433/", "http://127.1/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "file:///etc/passwd",
    "gopher://example.com/", "ftp://example.com/", "//example.com/", "http:///x", "http://user:secret@example.com/", "http://example.com/#x",
    "http://example.com:0/", "http://example.com:99999/", "http://exa mple.com/", "http://example.com\\@127.0.0.1/", "http://exämple.com/",
    "http://example.com/\r\nX: y", "http://-x.example/", "http://[::1", "http://127.0.0.1./",
]  # fmt: skip


@pytest.mark.parametrize("url", NEVER)
def test_f33_never(url: str) -> None:
    for allowed in ((), EVERYTHING):
        with pytest.raises(AddressRefused, match="never permitted"):
            Target.of(url, allowed)


@pytest.mark.parametrize("url", ONLY_WHERE_ALLOWED)
def test_f33_only_where_the_receiver_allows_it(url: str) -> None:
    with pytest.raises(AddressRefused, match="allow_networks"):
        Target.of(url, ())
    assert Target.of(url, EVERYTHING).scheme == "http"


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_f33_what_is_no_address(url: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        Target.of(url, EVERYTHING)
    assert "secret" not in str(caught.value)


PUBLIC = [
    "https://hooks.example.com/x?y=z", "https://93.184.216.34/", "http://[2606:4700::1111]:8080/", "http://[64:ff9b::93.184.216.34]/",
    "http://100.63.255.255/", "http://100.128.0.0/", "http://172.15.255.255/", "http://172.32.0.0/", "http://192.0.1.0/", "http://198.17.255.255/",
    "http://198.20.0.0/", "http://223.255.255.255/", "http://[2001:200::1]/", "http://[2003::1]/", "http://[2606:4700::5efe:93.184.216.34]/",
]  # fmt: skip


@pytest.mark.parametrize("url", PUBLIC)
def test_f33_what_is_public_is_permitted(url: str) -> None:
    Target.of(url, ())


def test_f33_an_allowed_network_allows_itself_alone() -> None:
    check(ip_address("10.1.2.3"), (ip_network("10.1.0.0/16"),))
    with pytest.raises(AddressRefused):
        check(ip_address("10.2.2.3"), (ip_network("10.1.0.0/16"),))


@pytest.mark.parametrize("found", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["fe80::1%eth0"], ["::ffff:127.0.0.1"], []])
def test_f33_a_name_is_judged_by_all_its_addresses(found: list[str]) -> None:
    with pytest.raises(AddressRefused):
        resolved(Target.of("https://hooks.example.com/", ()), (), lambda host, port: found)


def test_f33_a_name_that_is_rebound_is_not_connected_to() -> None:
    with serving() as server:
        url = f"http://rebound.example:{server.port}/"
        refused = post(url, b"{}", {"Authorization": "secret"}, Route((), resolve=lambda host, port: ["127.0.0.1"]))
        assert (refused.outcome, server.got) == ("failed", [])
        assert refused.reason.startswith("refused: 127.0.0.1")
        # Whoever answers is asked once for each request: what was checked is what is connected to.
        answers = iter((["127.0.0.1"], ["169.254.169.254"]))
        assert post(url, b"{}", {}, Route(LOOPBACK, resolve=lambda host, port: next(answers))).outcome == "ok"
        assert post(url, b"{}", {}, Route(LOOPBACK, resolve=lambda host, port: next(answers))).outcome == "failed"
        assert [got.headers["host"] for got in server.got] == [f"rebound.example:{server.port}"]


def test_f33_a_redirect_is_not_followed_and_gets_no_secret() -> None:
    with serving() as inside, serving(status(302, Location=inside.url)) as outside:
        result = post(outside.url, b"{}", {"Authorization": "secret"}, Route(LOOPBACK))
        assert result.reason.startswith("HTTP 302: redirects are not followed")
        assert inside.got == []


def test_f33_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy, serving() as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert post(server.url, b"{}", {}, Route(LOOPBACK)).outcome == "ok"
        assert (len(proxy.got), len(server.got)) == (0, 1)


@pytest.mark.parametrize(
    "url",
    [
        "json://127.0.0.1/", "json://0x7f000001/", "jsons://169.254.169.254", "mailto://u:p@[::1]", "file:///etc/passwd", "syslog://",
        "json://example.com,json://127.0.0.1", "http://10.0.0.1/x", "nothing", "dbus://", "form://[::ffff:127.0.0.1]/",
    ],
)  # fmt: skip
def test_f33_addresses_of_apprise_are_looked_at_as_far_as_they_are_some(url: str) -> None:
    with pytest.raises(AddressRefused):
        apprise_urls.check_address(url, ())


@pytest.mark.parametrize("url", ["slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "json://example.com", "pagerduty://k@a"])
def test_f33_and_those_that_may_be_are_left_to_the_sending(url: str) -> None:
    apprise_urls.check_address(url, ())


def test_f33_no_release_of_python_says_what_is_private() -> None:
    """`ipaddress` calls other addresses private, or global, from one release to the next; only is_loopback has never changed."""
    root = ROOT
    for folder in ("clientscope", "sinks", "streaming", "udfs"):
        for path in (root / folder).rglob("*.py"):
            asked = re.findall(r"\.is_(?:private|global|reserved|link_local|site_local|unspecified|multicast)\b", path.read_text())
            assert not asked, path
