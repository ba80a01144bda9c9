"""A target: how the devices of a fabric are reached, from ``inventory/TARGET.yml``; never what they should be.

The file is read strictly: unknown keys, wrong kinds and secrets are refused at their place. Secrets come from where
``secrets:`` says, from environment variables that the file names, or from an SSH agent.
"""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, GetPydanticSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from nornir_railweave.target.rollout import Rollout, Seconds
from railweave.diagnostics import Where
from railweave.secrets import reference, references
from railweave_hosts.access import MAY_STAND_ALONE, STRICT, Derived, File, HostAccess, Port, SecretName, Text, Variable
from railweave_hosts.access import Address as HostName

Option = str | int | float | bool
Skippable = Annotated[
    str, GetPydanticSchema(lambda _, schema_of: schema_of(Literal["lldp", "applied", "bfd", "timers"]))
]
SiteName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]

_PATTERN_FIELDS = {"name", "role", "number"}
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")


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
    """Timeouts in seconds; those of changes are the driver's."""

    __pydantic_config__ = STRICT
    connect_s: Annotated[Seconds, Field(validation_alias="connect")] = 15
    # Of a command that reads.
    command_s: Annotated[Seconds, Field(validation_alias="command")] = 60
    # How long a device that was lost is tried again.
    reconnect_s: Annotated[Seconds, Field(validation_alias="reconnect")] = 300
    # Until a worker of a site takes a request, and between two signs of life of it.
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


def _pattern_can_be_filled(value: str) -> str:
    fields = {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}
    unknown = fields - _PATTERN_FIELDS
    if unknown or not fields & {"name", "number"}:
        raise ValueError("use {name}, {role} and {number}, so that the address differs for every device")
    return value


def _with_numbers(value: Mapping[str, Option | SecretName]) -> Mapping[str, Option | SecretName]:
    # The reader of YAML leaves every number that is not whole as text.
    options: dict[str, Option | SecretName] = {}
    for name, option in value.items():
        is_decimal = isinstance(option, str) and _DECIMAL.fullmatch(option)
        options[name] = float(str(option)) if is_decimal else option
    return options


def _from_one_place(value: Mapping[str, SecretSource]) -> Mapping[str, SecretSource]:
    for name, source in value.items():
        if references(reference(name)) != (name,):
            raise ValueError(f"invalid secret name {name!r}: use letters, digits, `_`, `.` and `-`")
        stated = [place for place in (source.env, source.file, source.command) if place is not None]
        if len(stated) != 1:
            raise ValueError(f"{name} comes from one place: write `env:`, `file:` or `command:`")
    return value


@dataclass(frozen=True, slots=True)
class Target:
    """One target: how its switches and GPU nodes are reached, and how changes are rolled out to them."""

    __pydantic_config__ = STRICT
    name: Annotated[str, SkipJsonSchema()]
    source: Source
    # The name of a NAPALM driver that implements `railweave.switch_driver`.
    driver: Text = "sonic"
    login: Annotated[Login, Field(validation_alias="ssh")] = Login()
    # A pattern over `{name}`, `{role}` and `{number}`, for the switches that `devices` does not list.
    address: Annotated[Text, AfterValidator(_pattern_can_be_filled)] | None = None
    devices: Mapping[str, Annotated[Address, MAY_STAND_ALONE]] = field(default_factory=dict)
    # Optional arguments of the driver, beside those that `login` gives.
    options: Annotated[Mapping[str, Option | SecretName], AfterValidator(_with_numbers)] = field(default_factory=dict)
    timeouts: Timeouts = Timeouts()
    rollout: Rollout = field(default_factory=Rollout)
    # Kinds of checks that its switches cannot pass, each with the reason.
    skip_checks: Mapping[Skippable, Text] = field(default_factory=dict)
    # None where GPU nodes are not reached.
    hosts: HostAccess | None = None
    # Where each secret comes from that this file or the intent names.
    secrets: Annotated[Mapping[str, SecretSource], AfterValidator(_from_one_place)] = field(default_factory=dict)
    # A file of ssh-keygen's form: only plans are deployed that one of these signed.
    allowed_signers: File | None = None
    # From where switches are worked on; those of no site from this machine.
    sites: Mapping[SiteName, Site] = field(default_factory=dict)
    # The secret that holds the URL of the sites' task queue.
    broker: SecretName | None = None
    # Where the file states each of its keys, such as `ssh.key_file`.
    places: Derived[Mapping[str, Where]] = field(default_factory=dict, compare=False, repr=False)

    @model_validator(mode="after")
    def _addresses_come_from_somewhere(self) -> Self:
        if self.source is Source.ADDRESSES and self.address is None and not self.devices:
            raise ValueError("source `addresses` needs `address` (a pattern) or `devices` (a list)")
        if self.source is not Source.ADDRESSES and (self.address is not None or self.devices):
            what = "simulator" if self.source is Source.SIM else "lab"
            raise ValueError(
                f"source `{self.source}` takes its addresses from the running {what}; leave out address and devices"
            )
        return self

    @model_validator(mode="after")
    def _sites_are_reached_somehow(self) -> Self:
        queued = [name for name, site in self.sites.items() if site.command is None]
        if queued and self.broker is None:
            raise ValueError(
                f"site {queued[0]} has no `command`, so its workers need a task queue: name the secret that holds the "
                "broker's URL, `broker: {secret: BROKER}`"
            )
        return self

    @model_validator(mode="after")
    def _a_jump_host_needs_our_driver(self) -> Self:
        if self.login.jump is not None and self.driver != "sonic":
            raise ValueError("a jump host needs the driver `sonic`; give another driver its own options instead")
        return self

    @property
    def nodes_follow(self) -> bool:
        """Tell whether a marking or an MTU that nodes share may change in one step.

        Nodes of a simulator and of a lab have no traffic to lose; for others `rollout.single_step` has to allow it.
        """
        if self.rollout.single_step is None:
            return self.source is not Source.ADDRESSES
        return self.rollout.single_step
