"""The schema of ``hosts:`` in ``inventory/TARGET.yml``: how the GPU nodes of a target are reached."""

import string
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from railweave_hosts.access import Batches, Connection, HostAccess, NodeAddress, NodeLogin

_PATTERN_FIELDS = {"name", "kind", "number", "fabric"}

Name = Annotated[str, Field(min_length=1, max_length=253)]
Port = Annotated[int, Field(ge=1, le=65535)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\s]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeKeys(_Strict):
    """A node's own address, port, interpreter or root."""

    address: Name | None = None
    port: Port | None = None
    python: AbsolutePath | None = None
    root: AbsolutePath | None = None


class LoginKeys(_Strict):
    """How to log in and become root."""

    username: Annotated[str, Field(min_length=1)] = "root"
    port: Port = 22
    key_file: Annotated[str, Field(min_length=1)] | None = None
    password_env: Variable | None = None
    strict: bool = True
    known_hosts: Annotated[str, Field(min_length=1)] | None = None
    become: bool = True
    become_password_env: Variable | None = None


class BatchKeys(_Strict):
    """How a change goes through the nodes."""

    size: Annotated[int, Field(ge=1, le=1000)] = 50
    canary: Annotated[int, Field(ge=0, le=1000)] = 1
    max_failures: Annotated[int, Field(ge=0)] = 0
    forks: Annotated[int, Field(ge=1, le=500)] = 20
    timeout: Annotated[int, Field(ge=1, le=86400)] = 1800


class HostsKeys(_Strict):
    """The GPU nodes of a target."""

    connection: Connection = Connection.SSH
    address: Annotated[str, Field(min_length=1)] | None = None
    nodes: dict[str, NodeKeys] = {}
    python: AbsolutePath = "/usr/bin/python3"
    root: AbsolutePath | None = None
    nic_settings: bool = True
    ssh: LoginKeys = LoginKeys()
    batches: BatchKeys = BatchKeys()

    @field_validator("nodes", mode="before")
    @classmethod
    def _an_address_may_stand_alone(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: {"address": one} if isinstance(one, str) else one for name, one in value.items()}

    @field_validator("address")
    @classmethod
    def _pattern_can_be_filled(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            fields = {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}
        except ValueError as fault:
            raise ValueError(f"the pattern cannot be read: {fault}") from None
        if fields - _PATTERN_FIELDS or ("name" not in fields and not {"kind", "number"} <= fields):
            raise ValueError("a pattern over {name}, {kind}, {number}, {fabric} that differs for every node")
        return value


def host_access(keys: HostsKeys) -> HostAccess:
    """Return the access that ``keys`` describe."""
    ssh, batches = keys.ssh, keys.batches
    return HostAccess(
        address=keys.address,
        nodes={name: NodeAddress(one.address, one.port, one.python, one.root) for name, one in keys.nodes.items()},
        connection=keys.connection,
        python=keys.python,
        root=(keys.root or "").rstrip("/"),
        nic_settings=keys.nic_settings,
        login=NodeLogin(
            username=ssh.username,
            port=ssh.port,
            key_file=_path(ssh.key_file),
            password_env=ssh.password_env,
            strict=ssh.strict,
            known_hosts=_path(ssh.known_hosts),
            become=ssh.become,
            become_password_env=ssh.become_password_env,
        ),
        batches=Batches(batches.size, batches.canary, batches.max_failures, batches.forks, batches.timeout),
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).expanduser()
