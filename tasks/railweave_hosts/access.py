"""Access to the GPU nodes, from ``hosts:`` of ``inventory/TARGET.yml``, as variables of Ansible."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticKnownError

from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError
from railweave.fabric.devices import Host
from railweave.hosts.render import SCHEDULERS
from railweave_hosts.hooks import Hooks
from railweave_hosts.node_pattern import checked_pattern, fill_pattern


def _path(value: Any) -> Any:
    """Return the path in a text, with ``~`` filled in; raises ValueError for a text that cannot be a path."""
    if value == "":
        raise ValueError("the name of a file, or leave it out")
    if isinstance(value, str):
        try:
            return Path(value).expanduser()
        except RuntimeError:
            # A container may run as a user without an entry in /etc/passwd.
            raise ValueError("this user has no home folder: write the whole path in place of `~`") from None
    # pydantic reports any other type.
    return value


def _refuse(_value: Any) -> Any:
    """Refuse any value as that of an unknown key."""
    raise PydanticKnownError("unexpected_keyword_argument")


Value = TypeVar("Value")
Derived = Annotated[Value, BeforeValidator(_refuse), SkipJsonSchema()]
"""A field that is not read from a file: its key is refused like any unknown key."""
MAY_STAND_ALONE = BeforeValidator(lambda value: {"address": value} if isinstance(value, str) else value)
"""Accepts an address alone in place of a mapping with ``address``."""
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
    container on this machine (a lab)."""

    SSH = "ssh"
    LOCAL = "local"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """The address of one node; ``python`` and ``root`` override those of the target."""

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
    """How to log in and become root."""

    __pydantic_config__ = STRICT
    username: Text = "root"
    port: Port = 22
    key_file: File | None = None
    # Environment variable with the login's password.
    password_env: Variable | None = None
    # Refuse host keys that are not in known_hosts.
    strict: bool = True
    # None: the user's own file.
    known_hosts: File | None = None
    # Run as root through sudo unless the login is root already.
    become: bool = True
    # Environment variable with the password for sudo.
    become_password_env: Variable | None = None
    # Secret with the login's password, in place of password_env.
    password: SecretName | None = None
    # Secret with the password for sudo, in place of become_password_env.
    become_password: SecretName | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the names of the secrets needed to log in and become root."""
        return tuple(name.secret for name in (self.password, self.become_password) if name is not None)


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of a change: ``canary`` nodes first, then ``size`` at once; after more than ``max_failures`` failed
    or unreachable nodes no further batch starts. ``timeout_s`` ends a batch that hangs.

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
    """The ``hosts:`` section of a target."""

    __pydantic_config__ = STRICT
    connection: Connection = Connection.SSH
    # Pattern over {name}, {kind}, {number} and {fabric}: host names, IP addresses, or names of containers.
    address: Annotated[Text, AfterValidator(checked_pattern)] | None = None
    # Addresses of single nodes, by name; they override the pattern.
    nodes: Mapping[str, Annotated[NodeAddress, MAY_STAND_ALONE]] = field(default_factory=dict)
    # Python interpreter on the nodes.
    python: AbsolutePath = "/usr/bin/python3"
    # Prefix of the paths of files and of /sys; None on real nodes.
    root: AbsolutePath | None = None
    # Off where nodes have no NICs to set, as in a lab.
    nic_settings: bool = True
    login: Annotated[NodeLogin, Field(validation_alias="ssh")] = NodeLogin()
    batches: Batches = Batches()
    hooks: Hooks = field(default_factory=Hooks)
    # systemd units that start on a node only after its NICs are set.
    before: tuple[Unit, ...] = SCHEDULERS
    # Values of the secrets that `login` names.
    secrets: Derived[Mapping[str, str]] = field(default_factory=dict, repr=False)


# Names listed in a message before "and N more".
_SHOWN = 8


CONTAINER_VARIABLE = "railweave_container"
"""The variable that names a node's container."""


def inventory_of(access: HostAccess, hosts: Iterable[Host], fabric: str = "") -> dict[str, dict[str, Any]]:
    """Return Ansible's variables of each node by the node's name.

    Raises RefusedError, which names every node without an address.
    """
    inventory: dict[str, dict[str, Any]] = {}
    missing: list[str] = []
    for host in hosts:
        variables = _variables(access, host, fabric)
        if variables is None:
            missing.append(host.name)
        else:
            inventory[host.name] = variables
    if missing:
        raise RefusedError([_no_address(missing)])
    return inventory


def _no_address(names: Sequence[str]) -> Diagnostic:
    """Return the error for nodes without an address."""
    listed = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        listed += f" and {len(names) - _SHOWN} more"
    return error(
        "RW602",
        f"the target has no address for {listed}",
        devices=tuple(names),
        fix="add them under `hosts.nodes`, or give an `hosts.address` pattern",
    )


def _variables(access: HostAccess, host: Host, fabric: str) -> dict[str, Any] | None:
    """Return Ansible's variables of a node, None if the target has no address for it."""
    node = access.nodes.get(host.name, NodeAddress())
    root = node.root
    if root is None:
        root = (access.root or "").rstrip("/")
    variables: dict[str, Any] = {
        "ansible_python_interpreter": node.python or access.python,
        "railweave_root": root,
    }
    if access.connection is Connection.LOCAL:
        return variables | {"ansible_connection": "local"}
    address = _address(access, node, host, fabric)
    if address is None:
        return None
    if access.connection is Connection.CONTAINER:
        # ansible-core has no connection to containers; the interpreter enters the container (see runner.py).
        return variables | {"ansible_connection": "local", CONTAINER_VARIABLE: address}
    return variables | _ssh_variables(access.login, address, node.port or access.login.port)


def _address(access: HostAccess, node: NodeAddress, host: Host, fabric: str) -> str | None:
    """Return the address of a node, by its own entry or the target's pattern; None without either."""
    if node.host is not None or access.address is None:
        return node.host
    return fill_pattern(access.address, host, fabric)


def _ssh_variables(login: NodeLogin, address: str, port: int) -> dict[str, Any]:
    """Return the variables with which Ansible logs in over SSH."""
    variables: dict[str, Any] = {
        "ansible_connection": "ssh",
        "ansible_host": address,
        "ansible_port": port,
        "ansible_user": login.username,
        "ansible_ssh_common_args": " ".join(_ssh_words(login)),
    }
    if login.key_file is not None:
        variables["ansible_ssh_private_key_file"] = str(login.key_file)
    return variables


@dataclass(frozen=True, slots=True)
class Password:
    """A password that Ansible asks for: the option to make it ask, the prompt as a regular expression, the secret."""

    option: str
    prompt: str
    secret: str = field(repr=False)


def login_passwords(access: HostAccess, environ: Mapping[str, str] | None = None) -> tuple[Password, ...]:
    """Return the passwords that Ansible will ask for: to log in, and to become root.

    ``environ`` is the environment, by default that of this process. Raises RefusedError if a variable that the login
    names is not set.
    """
    if environ is None:
        environ = os.environ
    login = access.login
    passwords: list[Password] = []
    unset: list[str] = []
    for secret, variable, option, prompt in (
        (login.password, login.password_env, "--ask-pass", r"SSH password:\s*?$"),
        (login.become_password, login.become_password_env, "--ask-become-pass", r"BECOME password.*:\s*?$"),
    ):
        if secret:
            passwords.append(Password(option, prompt, access.secrets[secret.secret]))
        elif variable and environ.get(variable):
            passwords.append(Password(option, prompt, environ[variable]))
        elif variable:
            unset.append(variable)
    diagnostics = [
        error("RW603", f"the environment variable {variable} is not set", fix=f"export {variable}, or use a key")
        for variable in unset
    ]
    if diagnostics:
        raise RefusedError(diagnostics)
    return tuple(passwords)


def _ssh_words(login: NodeLogin) -> Iterable[str]:
    """Yield the options of ssh."""
    checking = "yes" if login.strict else "no"
    yield f"-o StrictHostKeyChecking={checking}"
    if login.known_hosts is not None:
        yield f"-o UserKnownHostsFile={login.known_hosts.resolve()} -o GlobalKnownHostsFile=/dev/null"
    elif not login.strict:
        # An unchecked key is not written to the user's file, where it would count as checked from then on.
        yield "-o UserKnownHostsFile=/dev/null"
    if login.password is None and login.password_env is None:
        # Without a password ssh fails at once instead of asking on a terminal that nobody watches.
        yield "-o BatchMode=yes"
