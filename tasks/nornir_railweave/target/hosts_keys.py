"""The schema of ``hosts:`` in ``inventory/TARGET.yml``: how the GPU nodes of a target are reached."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from railweave.hosts.render import SCHEDULERS
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
from railweave_hosts.hooks import Hooks
from railweave_hosts.node_pattern import checked_pattern

Unit = Annotated[str, Field(pattern=r"^[A-Za-z0-9:_.@-]+\.(service|target)$")]


class HostsKeys(BaseModel):
    """The GPU nodes of a target."""

    model_config = STRICT

    connection: Connection = Connection.SSH
    address: Annotated[Text, AfterValidator(checked_pattern)] | None = None
    nodes: dict[str, Annotated[NodeAddress, MAY_STAND_ALONE]] = {}
    python: AbsolutePath = "/usr/bin/python3"
    root: AbsolutePath | None = None
    nic_settings: bool = True
    ssh: NodeLogin = NodeLogin()
    batches: Batches = Batches()
    hooks: Hooks = Hooks()
    before: tuple[Unit, ...] = SCHEDULERS


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
        hooks=keys.hooks,
        before=keys.before,
    )
