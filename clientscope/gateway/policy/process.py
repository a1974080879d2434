"""The policy's process, which `clientscope.gateway.template` forks for `runner`, and the messages to it and back."""

from __future__ import annotations

import importlib
import logging
import os
import queue
import resource
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from clientscope import core_dumps
from clientscope.errors import InvalidConfigException, SettingsError
from clientscope.gateway.policy.plan import PolicyPlan
from clientscope.policy.interface import ClientConfigData, ClientConfigPolicy, RequestContext


@dataclass(frozen=True)
class PolicyPush:
    """A push to be processed."""

    context: RequestContext
    data: ClientConfigData


@dataclass(frozen=True)
class Close:
    """No more will come: close the policy, and end."""


@dataclass(frozen=True)
class Started:
    """The first message from a process."""

    pid: int


@dataclass(frozen=True)
class Publish:
    """A record for Kafka.

    Attributes:
        of_push: it was published by ``process``, for the push that this is processing.
    """

    of_push: bool
    topic: str
    key: str
    value: bytes = field(repr=False)


@dataclass(frozen=True)
class Done:
    """``process`` has returned, or raised.

    Attributes:
        outcome: ``accepted``, ``invalid_config`` or ``policy_error``.
        message: of an InvalidConfigException.
        worn: the process's memory is nearly used up: it asks to be closed.
    """

    outcome: str
    message: str | None
    process_time_s: float
    worn: bool


@dataclass(frozen=True)
class Configured:
    """The answer to a `PolicyPlan`, to the first and to each that follows it; where ``broken``, the policy is in an unknown state."""

    problem: SettingsError | None = None
    broken: bool = False


log = logging.getLogger(__name__)

NICE = 10

_LARGEST_VALUE = 1024 * 1024

_LONGEST_MESSAGE = 1_000

_WORN_PART = 0.8


class PolicyProcess:
    """Runs one policy: its own thread reads, the main thread calls the policy."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()  # bounded by the gateway's window
        self._is_processing = False
        self._policy: ClientConfigPolicy | None = None
        self._plan: PolicyPlan

    def run(self) -> None:
        """Until `Close`."""
        self._send(Started(os.getpid()))
        threading.Thread(target=self._read, name="gateway", daemon=True).start()
        while True:
            task = self._tasks.get()
            match task:
                case PolicyPush():
                    self._process(task)
                case PolicyPlan():
                    self._send(self._configure(task) if self._policy is None else self._reconfigure(self._policy, task))
                case Close():
                    if self._policy is not None:
                        self._policy.close()
                    return

    def _read(self) -> None:
        while True:
            try:
                self._tasks.put(self._connection.recv())
            except (EOFError, OSError):
                os._exit(0)  # the gateway is gone; the main thread may be anywhere

    def _send(self, message: Any) -> None:
        with self._sending:
            self._connection.send(message)

    def _configure(self, plan: PolicyPlan) -> Configured:
        self._plan = plan
        resource.setrlimit(resource.RLIMIT_AS, (plan.memory_bytes, plan.memory_bytes))
        try:
            self._policy = load_policy(plan.class_name)()
            self._policy.configure({**plan.configs, "clientscope.publish": self.publish})
        except Exception as error:
            if self._policy is not None:
                with suppress(Exception):
                    self._policy.close()
            return Configured(_problem(error, "configure"))
        return Configured()

    def _process(self, push: PolicyPush) -> None:
        assert self._policy is not None
        outcome, message = "accepted", None
        self._is_processing = True
        started = time.perf_counter()
        try:
            self._policy.process(push.context, push.data)
        except InvalidConfigException as refusal:
            outcome, message = "invalid_config", str(refusal)[:_LONGEST_MESSAGE]
        except MemoryError:
            os._exit(1)  # it would have none for the next push either
        except Exception as error:  # a plug-in may raise anything, and its text may quote a value
            outcome = "policy_error"
            log.error("the policy raised %s on a push", described(error))
        took = time.perf_counter() - started
        self._is_processing = False
        self._send(Done(outcome, message, took, _address_space() > _WORN_PART * self._plan.memory_bytes))

    def _reconfigure(self, policy: ClientConfigPolicy, plan: PolicyPlan) -> Configured:
        before, configs = self._plan.configs, plan.configs
        keys = {*configs, *before}
        changed = {key for key in keys if configs.get(key) != before.get(key)}
        theirs = keys - (before.keys() - self._plan.own)  # whatever is new is the policy's own
        new = {**configs, "clientscope.publish": self.publish}
        try:
            allowed = policy.reconfigurable_configs()
            if fixed := sorted(changed & theirs - allowed):
                may = ", ".join(sorted(allowed)) or "none"
                return Configured(SettingsError(f"{', '.join(fixed)} can't change while it runs", f"may change: {may}"))
            policy.validate_reconfiguration(new)
        except Exception as error:
            return Configured(_problem(error, "validate_reconfiguration"))
        if changed & allowed:
            try:
                policy.reconfigure(new)
            except Exception as error:
                return Configured(_problem(error, "reconfigure"), broken=True)
        self._plan = plan
        return Configured()

    def publish(self, topic: str, key: str, value: bytes) -> None:
        """``clientscope.publish``: never blocks for Kafka; from any thread.

        Raises:
            ValueError: the record is larger than a topic takes.
        """
        if len(value) > _LARGEST_VALUE:
            raise ValueError(f"the record has {len(value)} bytes, at most {_LARGEST_VALUE} are taken")
        of_push = self._is_processing and threading.current_thread() is threading.main_thread()
        self._send(Publish(of_push, topic, key, bytes(value)))


def described(error: BaseException) -> str:
    """An error's type and where it was raised; never its text, which may quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else type(error).__name__


def _problem(error: Exception, method: str) -> SettingsError:
    if isinstance(error, SettingsError):
        return SettingsError(str(error), error.hint)  # a policy's own class may be unknown to the gateway
    return SettingsError(f"client_config_policy_class_name: {method} raised {described(error)}")


def _address_space() -> int:
    """What RLIMIT_AS limits, in bytes; 0 where the system doesn't tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def live(channel: socket.socket) -> None:
    """The life of a process of the policy, until `Close`, or until the other end of the channel is closed; it never returns."""
    os.setsid()  # a group of its own, which is killed as a whole
    for fd, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, sys.stderr.fileno())):
        os.dup2(source, fd)
    os.nice(NICE)
    with suppress(OSError), core_dumps.own_files():
        # Linux may schedule a session as one group, and nice counts within it alone; this is the group's own.
        Path("/proc/self/autogroup").write_text(str(NICE))
    threading.excepthook = lambda failed: log.error(
        "a thread of the policy ended by %s", described(failed.exc_value) if failed.exc_value else failed.exc_type.__name__
    )
    status = 1
    try:
        PolicyProcess(Connection(channel.detach())).run()
        status = 0
    except BaseException as error:  # SystemExit too
        log.error("the policy's process ends by %s", described(error))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


_SETTING = "client_config_policy_class_name"


def load_policy(name: str) -> type[ClientConfigPolicy]:
    """The class behind a dotted name, ``module.Class``.

    Raises:
        SettingsError: there is no such policy, or it is not a ClientConfigPolicy.
    """
    module_name, _, class_name = name.rpartition(".")
    try:
        policy_class = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"{_SETTING}: {name}: {error}", "give a dotted name such as my_package.my_module.MyPolicy") from None
    except Exception as error:
        raise SettingsError(
            f"{_SETTING}: {name}: importing it raised {type(error).__name__}", f"python -c 'import {module_name}'"
        ) from None
    if not (isinstance(policy_class, type) and issubclass(policy_class, ClientConfigPolicy)):
        raise SettingsError(
            f"{_SETTING}: {name} is not a ClientConfigPolicy", "derive it from clientscope.policy.interface.ClientConfigPolicy"
        )
    return policy_class
