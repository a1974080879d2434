"""Check of brokers: one is reachable, and each answers."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.cluster.api_versions import AnswerState, ask
from clientscope.cluster.software import details, find_all
from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import CLIENT_ID, Situation
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.admin import connected


def check_brokers(situation: Situation) -> Iterator[CheckResult]:
    """Each broker of the cluster, at the address that the bootstrap servers' listener advertises."""
    if situation.access is None:
        yield not_checked("the settings of Kafka, or one of their files, can't be used: see files")
        return
    try:
        timeout_ms = int(situation.timeout_s * 1000)
        situation.admin = connected(situation.access, CLIENT_ID, timeout_ms)
        arguments = {**situation.access.client_arguments(), "client_id": CLIENT_ID, "request_timeout_ms": timeout_ms}
        cluster = ask(arguments, with_software=True)
    except EnvironmentProblem as error:
        yield problem(str(error), error.hint or "")
        return
    situation.brokers = [details(each) for each in find_all(cluster.answers, {}, {})]
    for broker in situation.brokers:
        name = f"broker {broker.broker} at {broker.host}:{broker.port}"
        if broker.state == AnswerState.ANSWERED:
            software = " ".join(filter(None, (broker.software_name, broker.software_version))) or "unknown software"
            how = f", {broker.source}" if broker.source else ""
            yield ok(f"{name}: {software}{how}")
        elif broker.fenced:
            yield warning(f"{name}: fenced, so it is registered and not running", "start it, or unregister it")
        else:
            reason = next(each.reason for each in cluster.answers if each.broker.id == broker.broker)
            yield problem(f"{name}: {broker.state} ({reason[:200]})", "start the broker, or correct what its listener advertises")
