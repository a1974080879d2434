"""Events that clients log: what to look for, and what it means. No text of a log is kept but the client's own name and its group.

The texts were read in Kafka's jars (2.1, 2.8, 3.9, 4.4), in librdkafka 2.16, kafka-python 3.0 and KIP-588.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clientscope.logs.client_logs import LoggedLine


class EventKind(NamedTuple):
    """One kind of event.

    Attributes:
        pattern: of its lines in a client's log, whatever library logs them; empty for what only brokers' logs show.
    """

    code: str
    name: str
    severity: str
    message: str
    why: str
    use_instead: str
    source: str
    pattern: str = ""

    @property
    def documentation(self) -> dict[str, str]:
        """The sections that a rule's documentation has."""
        return {"What": self.message, "Why": self.why, "Use instead": self.use_instead, "Source": self.source}


_CONSUMER = "https://kafka.apache.org/documentation/#consumerconfigs_"
STORM = EventKind(
    "LG201", "reconnect_storm", "medium",
    "This application opens connections all the time: keep one client for the life of the process, and see why it comes back.",
    "Each new connection costs the broker a handshake, authentication and memory; a group rebalances with each new member.",
    "One producer or consumer that the whole process uses; longer reconnect.backoff.max.ms; credentials that the brokers accept.",
    "https://kafka.apache.org/documentation/#producerapi",
)  # fmt: skip
OPEN_TRANSACTION = EventKind(
    "LG202", "open_transaction", "medium",
    "This producer began a transaction, and neither committed nor aborted it within transaction.timeout.ms: end each, also after an error.",
    "Consumers with isolation.level=read_committed wait behind it, until the broker aborts it and its records are lost to them.",
    "commitTransaction() at the end of each unit of work, abortTransaction() where it fails; transaction.timeout.ms above the slowest one.",
    "https://kafka.apache.org/documentation/#producerconfigs_transaction.timeout.ms",
)  # fmt: skip
EVENTS = (
    EventKind(
        "LG101", "poll_timeout_exceeded", "high",
        "This consumer didn't poll within max.poll.interval.ms and left its group: raise max.poll.interval.ms, or lower max.poll.records.",
        "The group rebalances, others get its partitions, and they process again what it hasn't committed.",
        "A max.poll.interval.ms above the slowest batch, or fewer records for each poll (max.poll.records).",
        f"{_CONSUMER}max.poll.interval.ms",
        # Java and kafka-python; Java's CommitFailedException; librdkafka, twice; kafka-python up to 2.0
        r"poll timeout has expired|time between subsequent calls to poll\(\) was longer than|Application maximum poll interval \("
        r"|Maximum application poll interval \(max\.poll\.interval\.ms\) exceeded|Heartbeat poll expired, leaving group",
    ),
    EventKind(
        "LG102", "client_id_twice_in_a_process", "low",
        "Two clients of one process have the same client.id: give each a client.id of its own.",
        "Metrics of the second one aren't registered, and quotas and logs can't tell them apart.",
        "client.id with a number behind it; or one client that all parts of the process use.",
        f"{_CONSUMER}client.id",
        r"InstanceAlreadyExistsException: kafka\.(?:producer|consumer|admin\.client)\b"
        r"|The mbean of App info: \[kafka\.(?:producer|consumer|admin\.client)\], id: \[",  # from 3.9 on
    ),
    EventKind(
        "LG103", "fenced", "high",
        "Another instance took this client's place (fenced): give each instance its own transactional.id or group.instance.id.",
        "A fenced client can do no more: its transaction is aborted, or it is out of its group.",
        "An id for each instance that stays over its restarts; transactions shorter than transaction.timeout.ms.",
        "https://cwiki.apache.org/confluence/display/KAFKA/KIP-588%3A+Allow+producers+to+recover+gracefully+from+transaction+timeouts",
        r"(?:ProducerFenced|FencedInstanceId|InvalidProducerEpoch)(?:Exception|Error)\b|\b(?:PRODUCER_FENCED|FENCED_INSTANCE_ID)\b"
        r"|fenced by (?:a )?(?:another|newer|other)\b|fenced group[._]instance[._]id|fenced exception for group\.instance\.id"
        r"|fenced id error|attempted to produce with an old epoch",
    ),
    EventKind(
        "LG104", "not_authorized", "high",
        "The brokers deny this client what it asks for: add the ACL that it needs, or correct the name that it uses.",
        "Its requests fail until somebody grants the right, and most clients retry or stop.",
        "kafka-acls.sh --add for the principal, the operation and the topic, group or transactional.id that the line names.",
        "https://kafka.apache.org/documentation/#security_authz",
        r"(?:Topic|Group|Cluster|TransactionalId)Authorization(?:Exception|Failed)"
        r"|\b(?:TOPIC|GROUP|CLUSTER|TRANSACTIONAL_ID)_AUTHORIZATION_FAILED\b"
        r"|Broker: (?:Topic|Group|Cluster|Transactional Id) authorization failed|[Nn]ot authorized to (?:access|commit|read|do idempotent)",
    ),
    EventKind(
        "LG105", "authentication_failed", "high",
        "The brokers refuse this client's credentials: correct sasl.mechanism, user and password, or renew what has expired.",
        "It never connects, and each attempt costs the brokers a handshake.",
        "Credentials from a secret store, and the mechanism of the brokers' listener.",
        "https://kafka.apache.org/documentation/#security_sasl",
        r"SaslAuthentication(?:Failed)?(?:Exception|Error)\b|\bSASL_AUTHENTICATION_FAILED\b|failed authentication due to: (?!SSL)"
        r"|SASL(?: SCRAM| OAUTHBEARER)? authentication (?:error|failure|failed)|Broker: SASL Authentication failed",
    ),
    EventKind(
        "LG106", "setting_refused", "high",
        "This client doesn't start, since its library doesn't know a setting: correct the name in that line, or take it out.",
        "librdkafka and kafka-python refuse a name that they don't know, and whoever restarts the client gets no further.",
        "The name as the library's documentation has it; clientscope lint finds it in the settings file.",
        "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md",
        r"No such configuration property: |(?:ConfigurationError|ValueError): Unrecognized configs: \{",
    ),
    STORM,
    OPEN_TRANSACTION,
)  # fmt: skip

_KINDS = tuple((kind, re.compile(kind.pattern)) for kind in EVENTS if kind.pattern)
_HINT = re.compile(
    r"poll|[Ff]enced|FENCED|ProducerEpoch|epoch|AlreadyExists|already exists|[Aa]uthori[sz]|AUTHORI|uthentication|AUTHENTICATION"
    r"|No such conf|nrecognized conf"
)
_CLIENT = re.compile(
    r"\bclientId=([^,\]\s]{1,249})[,\]]|\bclient_id=([^,>\s]{1,249})[,>]|(?:^|[| \[])([^|\s\[]{0,249})#(?:producer|consumer)-\d{1,9}[|\]]"
    r"|:type=app-info,id=([^,\s]{1,249})|App info: \[[\w.]{1,40}\], id: \[([^\]\s]{1,249})\]"
)
_GROUP = re.compile(r"\bgroupId=([^,\]\s]{1,249})[,\]]")
_CONTINUED = re.compile(r"\s|Caused by: |(?:[a-z][\w$]{0,60}\.){1,12}[A-Z]")
"""How a line begins that belongs to the message before it: a stack trace."""
MOST = 1_000
"""Clients and kinds of a log that are kept."""


class LoggedEvent(NamedTuple):
    """An event of one client; empty texts for what the line doesn't say."""

    kind: EventKind
    client_id: str
    group: str


class EventLog:
    """The events of one log.

    Attributes:
        found: each event with the number of its first line.
        left_out: events beyond `MOST`.
    """

    def __init__(self) -> None:
        self.found: dict[LoggedEvent, int] = {}
        self.left_out = 0
        self._who = "", "", ""

    def read(self, number: int, text: LoggedLine) -> None:
        """Takes a line."""
        line = text.line[:8_192]
        client = _CLIENT.search(line)
        if client:
            group = _GROUP.search(line)
            self._who = text.process, next(filter(None, client.groups()), ""), group[1] if group else ""
        elif self._who[0] != text.process or not _CONTINUED.match(line):
            self._who = text.process, "", ""
        if not _HINT.search(line):
            return
        for kind, pattern in _KINDS:
            if pattern.search(line):
                event = LoggedEvent(kind, *self._who[1:])
                if event in self.found or len(self.found) < MOST:
                    self.found.setdefault(event, number)
                else:
                    self.left_out += 1
