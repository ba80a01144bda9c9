"""Over which ports switches send what goes to a prefix, for a look at a rollout's neighbors."""

from collections.abc import Collection, Mapping

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.target.connect import run_on
from railweave.plan.witness import Witness
from railweave.switch_driver import Capability


def all_carry(nr: Nornir, witnesses: Collection[Witness]) -> bool:
    """Tell whether each of these sends over all of its ports; not where one cannot be asked or does not say."""
    prefixes = {witness.device: witness.prefix for witness in witnesses}
    if not prefixes.keys() <= nr.inventory.hosts.keys():
        return False
    used = run_on(nr, prefixes, ports_towards, prefixes=prefixes)
    return all(witness.ports <= used[witness.device] for witness in witnesses)


def ports_towards(task: Task, *, prefixes: Mapping[str, str]) -> Result:
    """Return the ports over which a device sends to its prefix; none where it does not say."""
    ports: frozenset[str] = frozenset()
    with session(task) as opened:
        try:
            driver = opened.driver
            if driver.can(Capability.ROUTES):
                ports = driver.ports_towards(prefixes[task.host.name])
        except DEVICE_ERRORS:
            opened.close()
    return Result(host=task.host, result=ports)
