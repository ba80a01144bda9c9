"""Access to the GPU nodes, from ``hosts:`` of ``inventory/TARGET.yml``, as variables of Ansible."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticKnownError

from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Host
from railweave.hosts.render import SCHEDULERS
from railweave_hosts.hooks import Hooks
from railweave_hosts.node_pattern import checked_pattern, fill_pattern


def _path(value: Any) -> Any:
    if value == "":
        raise ValueError("the name of a file, or leave it out")
    return Path(value).expanduser() if isinstance(value, str) else value


def _refuse(_value: Any) -> Any:
    raise PydanticKnownError("unexpected_keyword_argument")


Value = TypeVar("Value")
Derived = Annotated[Value, BeforeValidator(_refuse), SkipJsonSchema()]
"""A field that no file states: a key of its name is as unknown as any other."""
MAY_STAND_ALONE = BeforeValidator(lambda value: {"address": value} if isinstance(value, str) else value)
"""Of an address without anything else beside it."""
STRICT = ConfigDict(extra="forbid", frozen=True)
Text = Annotated[str, Field(min_length=1)]
Address = Annotated[str, Field(min_length=1, max_length=253)]
Port = Annotated[int, Field(ge=1, le=65535)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\s]*$")]
Unit = Annotated[str, Field(pattern=r"^[A-Za-z0-9:_.@-]+\.(service|target)$")]
File = Annotated[Path, BeforeValidator(_path)]
"""A file on this machine; ``~`` is the user's home."""


class Connection(StrEnum):
    """How Ansible runs programs on a node: over SSH, on this machine (a node that manages itself, a test), or in a
    container of it (a lab)."""

    SSH = "ssh"
    LOCAL = "local"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """One node's own address; ``python`` and ``root`` are its own where they are not the target's."""

    __pydantic_config__ = STRICT
    host: Annotated[Address | None, Field(validation_alias="address")] = None
    port: Port | None = None
    python: AbsolutePath | None = None
    root: AbsolutePath | None = None


@dataclass(frozen=True, slots=True)
class SecretName:
    """A secret by its name in ``secrets:``."""

    __pydantic_config__ = STRICT
    secret: Text


@dataclass(frozen=True, slots=True)
class NodeLogin:
    """How to log in and become root. ``password`` and ``become_password`` name secrets, ``password_env`` and
    ``become_password_env`` environment variables; none of them is a secret itself.

    ``strict`` refuses host keys that ``known_hosts`` (without it the user's own file) does not hold.
    """

    __pydantic_config__ = STRICT
    username: Text = "root"
    port: Port = 22
    key_file: File | None = None
    password_env: Variable | None = None
    strict: bool = True
    known_hosts: File | None = None
    become: bool = True
    become_password_env: Variable | None = None
    password: SecretName | None = None
    become_password: SecretName | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the names of the secrets that are needed to log in and become root."""
        return tuple(one.secret for one in (self.password, self.become_password) if one is not None)


@dataclass(frozen=True, slots=True)
class Batches:
    """How a change goes through the nodes: ``canary`` nodes first, then ``size`` at once; after more than
    ``max_failures`` failed or unreachable nodes no further one starts. ``timeout_s`` ends a batch that hangs.

    The RDMA test of the canary fails on a rail that carries less than ``rdma_percent`` of its link's rate.
    """

    __pydantic_config__ = STRICT
    size: Annotated[int, Field(ge=1, le=1000)] = 50
    canary: Annotated[int, Field(ge=0, le=1000)] = 1
    max_failures: Annotated[int, Field(ge=0)] = 0
    forks: Annotated[int, Field(ge=1, le=500)] = 20
    timeout_s: Annotated[int, Field(ge=1, le=86400, validation_alias="timeout")] = 1800
    rdma_percent: Annotated[int, Field(ge=0, le=100)] = 80


@dataclass(frozen=True, slots=True)
class HostAccess:
    """The ``hosts:`` of a target. ``address`` is a pattern over ``{name}``, ``{kind}``, ``{number}`` and ``{fabric}``:
    of host names or IP addresses, or of containers' names.

    ``root`` stands before every path of a file and of /sys, None on real nodes; ``nic_settings`` is off where nodes
    have no such NICs, as in a lab. ``secrets`` are the values of those that ``login`` names;
    units of ``before`` start on a node once its NICs are set.
    """

    __pydantic_config__ = STRICT
    connection: Connection = Connection.SSH
    address: Annotated[Text, AfterValidator(checked_pattern)] | None = None
    nodes: Mapping[str, Annotated[NodeAddress, MAY_STAND_ALONE]] = field(default_factory=dict)
    python: AbsolutePath = "/usr/bin/python3"
    root: AbsolutePath | None = None
    nic_settings: bool = True
    login: Annotated[NodeLogin, Field(validation_alias="ssh")] = NodeLogin()
    batches: Batches = Batches()
    hooks: Hooks = field(default_factory=Hooks)
    before: tuple[Unit, ...] = SCHEDULERS
    secrets: Derived[Mapping[str, str]] = field(default_factory=dict, repr=False)


_SHOWN = 8


CONTAINER_VARIABLE = "railweave_container"
"""The variable that names a node's container."""


def inventory_of(access: HostAccess, hosts: Iterable[Host], fabric: str = "") -> dict[str, dict[str, Any]]:
    """Return Ansible's variables of each node; raises RefusedError naming every node without an address."""
    found = {host.name: _variables(access, host, fabric) for host in hosts}
    missing = tuple(name for name, variables in found.items() if variables is None)
    if missing:
        listed = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
        raise RefusedError(
            [
                error(
                    "RW602",
                    f"the target has no address for {listed}",
                    devices=missing,
                    fix="add them under `hosts.nodes`, or give an `hosts.address` pattern",
                )
            ]
        )
    return {name: variables for name, variables in found.items() if variables is not None}


def _variables(access: HostAccess, host: Host, fabric: str) -> dict[str, Any] | None:
    own = access.nodes.get(host.name, NodeAddress())
    variables: dict[str, Any] = {
        "ansible_python_interpreter": own.python or access.python,
        "railweave_root": (access.root or "").rstrip("/") if own.root is None else own.root,
    }
    if access.connection is Connection.LOCAL:
        return variables | {"ansible_connection": "local"}
    address = own.host
    if address is None and access.address is not None:
        address = fill_pattern(access.address, host, fabric)
    if address is None:
        return None
    if access.connection is Connection.CONTAINER:
        return variables | {"ansible_connection": "local", CONTAINER_VARIABLE: address}
    login = access.login
    variables |= {
        "ansible_connection": "ssh",
        "ansible_host": address,
        "ansible_port": own.port or login.port,
        "ansible_user": login.username,
        "ansible_ssh_common_args": " ".join(_ssh_words(login)),
    }
    if login.key_file is not None:
        variables["ansible_ssh_private_key_file"] = str(login.key_file)
    return variables


@dataclass(frozen=True, slots=True)
class Password:
    """A password that Ansible asks for: the option that makes it ask, the prompt as a pattern, the secret."""

    option: str
    prompt: str
    secret: str = field(repr=False)


def login_passwords(access: HostAccess, environ: Mapping[str, str] | None = None) -> tuple[Password, ...]:
    """Return the passwords that the login names; raises RefusedError where an environment variable is not set."""
    environ = os.environ if environ is None else environ
    login = access.login
    named = (
        (login.password, login.password_env, "--ask-pass", r"SSH password:\s*?$"),
        (login.become_password, login.become_password_env, "--ask-become-pass", r"BECOME password.*:\s*?$"),
    )
    unset = [name for secret, name, _, _ in named if not secret and name and not environ.get(name)]
    if unset:
        raise RefusedError(
            [
                error("RW603", f"the environment variable {name} is not set", fix=f"export {name}, or use a key")
                for name in unset
            ]
        )
    return tuple(
        Password(option, prompt, access.secrets[secret.secret] if secret else environ[name or ""])
        for secret, name, option, prompt in named
        if secret or name
    )


def _ssh_words(login: NodeLogin) -> Iterable[str]:
    yield f"-o StrictHostKeyChecking={'yes' if login.strict else 'no'}"
    if login.known_hosts is not None:
        yield f"-o UserKnownHostsFile={login.known_hosts.resolve()} -o GlobalKnownHostsFile=/dev/null"
    elif not login.strict:
        yield "-o UserKnownHostsFile=/dev/null"
    if login.password is None and login.password_env is None:
        yield "-o BatchMode=yes"
