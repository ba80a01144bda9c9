"""The schema of ``hosts:`` in ``inventory/TARGET.yml``: how the GPU nodes of a target are reached."""

import string
from typing import Annotated

from pydantic import BaseModel, field_validator

from railweave_hosts.access import (
    MAY_STAND_ALONE,
    STRICT,
    AbsolutePath,
    Batches,
    Connection,
    HostAccess,
    NodeAddress,
    NodeLogin,
    Text,
)

_PATTERN_FIELDS = {"name", "kind", "number", "fabric"}


class HostsKeys(BaseModel):
    """The GPU nodes of a target."""

    model_config = STRICT

    connection: Connection = Connection.SSH
    address: Text | None = None
    nodes: dict[str, Annotated[NodeAddress, MAY_STAND_ALONE]] = {}
    python: AbsolutePath = "/usr/bin/python3"
    root: AbsolutePath | None = None
    nic_settings: bool = True
    ssh: NodeLogin = NodeLogin()
    batches: Batches = Batches()

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
    return HostAccess(
        address=keys.address,
        nodes=keys.nodes,
        connection=keys.connection,
        python=keys.python,
        root=(keys.root or "").rstrip("/"),
        nic_settings=keys.nic_settings,
        login=keys.ssh,
        batches=keys.batches,
    )
