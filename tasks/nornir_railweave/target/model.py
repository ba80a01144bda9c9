"""A target: how the devices of a fabric are reached, from ``inventory/TARGET.yml``; never what they should be.

The file is read strictly: unknown keys, wrong kinds and secrets are refused at their place. Secrets come from where
``secrets:`` says, from environment variables that the file names, or from an SSH agent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave_hosts.access import STRICT, File, HostAccess, Port, SecretName, Text, Variable
from railweave_hosts.access import Address as HostName

Seconds = Annotated[float, Field(gt=0, le=86400)]
Option = str | int | float | bool


class Source(StrEnum):
    """Where addresses come from: the target's own list and pattern, the running simulator, or the running lab."""

    ADDRESSES = "addresses"
    SIM = "sim"
    LAB = "lab"


@dataclass(frozen=True, slots=True)
class Address:
    """A management address: a host name or IP address, and a port where it is not the target's."""

    __pydantic_config__ = STRICT
    host: Annotated[HostName, Field(validation_alias="address")]
    port: Port | None = None


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a secret comes from: an environment variable, a file, or what a command prints; exactly one of them."""

    __pydantic_config__ = STRICT
    env: Variable | None = None
    file: File | None = None
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SshLogin:
    """A login by SSH. ``password`` and ``passphrase`` name secrets, ``password_env`` and ``passphrase_env`` environment
    variables; none of them is a secret itself."""

    __pydantic_config__ = STRICT
    username: Text = "admin"
    port: Port = 22
    key_file: File | None = None
    agent: bool = True
    password_env: Variable | None = None
    passphrase_env: Variable | None = None
    password: SecretName | None = None
    passphrase: SecretName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpLogin(_SshLogin):
    """A jump host and how to log in there; without a file of its own its key stands in that of the switches.

    ``channels`` bounds the switches reached at once.
    """

    __pydantic_config__ = STRICT
    host: HostName
    known_hosts: File | None = None
    channels: Annotated[int, Field(ge=1, le=1000)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Login(_SshLogin):
    """How to log in to switches.

    ``strict`` refuses host keys that ``known_hosts`` (without it the user's own file) does not hold.
    """

    __pydantic_config__ = STRICT
    strict: bool = True
    known_hosts: File | None = None
    jump: JumpLogin | None = None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, for a reading command, to find a lost device again, and until a worker of a site takes what
    it is asked and shows that it is there. Times of changes are the driver's."""

    __pydantic_config__ = STRICT
    connect_s: Annotated[Seconds, Field(validation_alias="connect")] = 15
    command_s: Annotated[Seconds, Field(validation_alias="command")] = 60
    reconnect_s: Annotated[Seconds, Field(validation_alias="reconnect")] = 300
    worker_s: Annotated[Seconds, Field(validation_alias="worker")] = 30


@dataclass(frozen=True, slots=True)
class Site:
    """A place from which some switches are worked on: ``devices`` are patterns over their names (``pod1-leaf1?``).

    ``command`` starts a worker that speaks over its standard input and output, such as ``ssh RUNNER …``; without it the
    site's workers take their requests from the queue ``railweave.NAME`` of the target's broker.
    """

    __pydantic_config__ = STRICT
    devices: Annotated[tuple[Text, ...], Field(min_length=1)]
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None


@dataclass(frozen=True, slots=True)
class Rollout:
    """How many devices at once, after how many failures a wave takes no further device, and the times in seconds.

    ``revert_in_s`` is the switch's own timer: it covers applying and verifying, and restores what was there.
    ``drain_timeout_s`` is how long drained ports may take to fall below ``quiet_packets_per_s``; ``soak_s`` is how long
    the devices of a wave are watched before the next wave. ``policy`` bounds what is out of service at once.
    ``single_step`` carries out in one step what would hurt live traffic unless it went in phases. ``processes`` of this
    machine read switches; 0: as many as pay.
    """

    workers: int = 50
    processes: int = 1
    max_failures: int = 1
    revert_in_s: int = 900
    verify_timeout_s: float = 180
    verify_interval_s: float = 2
    soak_s: float = 0
    drain_timeout_s: float = 60
    quiet_packets_per_s: float = 100
    policy: RolloutPolicy = DEFAULT_POLICY
    single_step: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One target. ``address`` is a pattern over ``{name}``, ``{role}`` and ``{number}``; ``devices`` go before it.

    ``driver`` is a NAPALM driver's name and ``options`` its optional arguments beside those that ``login`` gives.
    ``skip_checks`` are kinds of checks that its switches cannot pass, each with the reason. ``hosts`` is how GPU nodes
    are reached, None where they are not. ``secrets`` says where each secret comes from that this file or the intent
    names. With ``allowed_signers``, a file of ssh-keygen's form, only plans are deployed that one of them signed.
    ``sites`` are where switches are worked on from; those of no site are worked on from this machine. ``broker`` is the
    secret that holds the URL of the sites' task queue.
    """

    name: str
    source: Source
    driver: str = "sonic"
    login: Login = field(default_factory=Login)
    address: str | None = None
    devices: Mapping[str, Address] = field(default_factory=dict)
    options: Mapping[str, Option | SecretName] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    rollout: Rollout = field(default_factory=Rollout)
    skip_checks: Mapping[str, str] = field(default_factory=dict)
    hosts: HostAccess | None = None
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    allowed_signers: Path | None = None
    sites: Mapping[str, Site] = field(default_factory=dict)
    broker: SecretName | None = None
