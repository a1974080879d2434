"""``clientscope explain --fleet`` on a real topic: clients of request logs, published by ``clientscope xray``, and what of it is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forked import printed

FIXTURES = Path(__file__).parents[1] / "fixtures" / "request_logs"


def test_who_has_which_value(broker: Any) -> None:
    servers = ("--bootstrap-servers", broker.internal)
    printed("xray", str(FIXTURES / "broker-2.8.log"), str(FIXTURES / "broker.log"), "--publish", *servers)
    explained = {each["library"]: each for each in json.loads(printed("explain", "acks", "--fleet", "-o", "json", *servers))}
    java = explained["java"]["fleet"]
    assert java["clients"] >= 1
    assert {each["value"] for each in java["values"]} <= {"all", "0", "1"}
    assert sum(each["clients"] for each in java["values"]) + java["others"] == java["clients"]
    assert explained["sarama"]["fleet"] == {"clients": 0, "values": [], "others": 0}
    text = printed("explain", "acks", "--software", "java", "--fleet", *servers)
    assert f"  In the fleet, {java['clients']} client" in text
    withheld = printed("explain", "ssl.key.password", "--software", "java", "--fleet", *servers)
    assert "‹withheld" in withheld or "no client's value is known" in withheld
