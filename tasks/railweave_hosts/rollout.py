"""The nodes of a fabric as they are, and as they should be: a dry run over all, or a change batch by batch."""

from collections.abc import Sequence

from railweave.fabric.model import Fabric, Host
from railweave.hosts.outcome import HostResult, HostsRun, HostState, failed
from railweave.hosts.render import HostRenderer
from railweave_hosts.access import HostAccess, inventory_of
from railweave_hosts.bundle import bundle
from railweave_hosts.runner import NodeReading, Told, in_batches, read_nodes, run_role


class HostRollout:
    """Runs on the nodes of one fabric, reached through one target."""

    def __init__(self, fabric: Fabric, renderer: HostRenderer, access: HostAccess, target: str) -> None:
        self._fabric = fabric
        self._renderer = renderer
        self._access = access
        self._target = target

    def plan(self, hosts: Sequence[Host], told: Told | None = None) -> HostsRun:
        """Return what would change on ``hosts``; nothing is changed. Raises RefusedError, RailweaveError."""
        return HostsRun(self._fabric.name, self._target, False, self._run(hosts, check=True, told=told))

    def apply(self, hosts: Sequence[Host], told: Told | None = None) -> HostsRun:
        """Bring ``hosts`` in line, batch by batch, until more of them fail than the budget allows."""
        inventory_of(self._access, hosts, self._fabric.name)  # refuses before the first batch
        batches = self._access.batches
        by_name = {host.name: host for host in hosts}
        results: dict[str, HostResult] = {}
        stopped = ""
        for names in in_batches(list(by_name), batches.canary, batches.size):
            if stopped:
                results |= {name: HostResult(name, HostState.NOT_ATTEMPTED) for name in names}
                continue
            done = self._run([by_name[name] for name in names], check=False, told=told)
            results |= {one.name: one for one in done}
            stopped = _reason(failed(results.values()), batches.max_failures)
        return HostsRun(self._fabric.name, self._target, True, tuple(results.values()), stopped)

    def read(self, hosts: Sequence[Host], told: Told | None = None) -> tuple[NodeReading, ...]:
        """Return how ``hosts`` are set; nothing is changed. Raises RefusedError, RailweaveError."""
        inventory = inventory_of(self._access, hosts, self._fabric.name)
        return read_nodes(self._access, inventory, self._bundles(hosts), told) if hosts else ()

    def _bundles(self, hosts: Sequence[Host]) -> dict[str, bytes]:
        programs = self._renderer.programs()
        backend, with_nics = self._fabric.policies.hosts.network, self._access.nic_settings
        return {
            host.name: bundle(self._renderer.files(host), backend, programs, nic_settings=with_nics) for host in hosts
        }

    def _run(self, hosts: Sequence[Host], *, check: bool, told: Told | None) -> tuple[HostResult, ...]:
        if not hosts:
            return ()
        bundles = self._bundles(hosts)
        return run_role(
            self._access, inventory_of(self._access, hosts, self._fabric.name), bundles, check=check, told=told
        )


def _reason(bad: Sequence[HostResult], allowed: int) -> str:
    """Return why no further batch starts, empty where the budget lasts."""
    if len(bad) <= allowed:
        return ""
    first = bad[0]
    return f"{len(bad)} failed, {allowed} allowed; first {first.name}: {first.error}"
