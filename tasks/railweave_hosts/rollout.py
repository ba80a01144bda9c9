"""The nodes of a fabric as they are, and as they should be: a dry run over all, or a change batch by batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railweave.fabric.model import Fabric, Host
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostsRun, HostState, failed
from railweave.hosts.render import HostRenderer
from railweave_hosts.access import HostAccess, inventory_of
from railweave_hosts.bundle import bundle
from railweave_hosts.hooks import HookLog, HookRunner
from railweave_hosts.rdma_test import Tested, ends_of_test, judged
from railweave_hosts.runner import NodeReading, Told, in_batches, read_nodes, run_role

_FINE = {HostState.UNCHANGED, HostState.CHANGED}


class HostRollout:
    """Runs on the nodes of one fabric, reached through one target."""

    def __init__(
        self, fabric: Fabric, renderer: HostRenderer, access: HostAccess, target: str, log: HookLog | None = None
    ) -> None:
        self._fabric = fabric
        self._renderer = renderer
        self._access = access
        self._target = target
        self._hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)

    def plan(self, hosts: Sequence[Host], told: Told | None = None, *, rollback: bool = False) -> HostsRun:
        """Return what would change on ``hosts``, or what a rollback would; nothing is changed. Raises RefusedError,
        RailweaveError."""
        found = self._checked(hosts, _part(rollback), told)
        return HostsRun(self._fabric.name, self._target, False, found, is_rollback=rollback)

    def apply(self, hosts: Sequence[Host], told: Told | None = None, *, rollback: bool = False) -> HostsRun:
        """Bring ``hosts`` in line, or back to their snapshots, batch by batch, until more of them fail than the budget
        allows."""
        inventory_of(self._access, hosts, self._fabric.name)  # refuses before the first batch
        batches = self._access.batches
        by_name = {host.name: host for host in hosts}
        results: dict[str, HostResult] = {}
        stopped = tested = ""
        for names in in_batches(list(by_name), batches.canary, batches.size):
            if stopped:
                results |= {name: HostResult(name, HostState.NOT_ATTEMPTED) for name in names}
                continue
            batch = _Batch([by_name[name] for name in names], _part(rollback), not results and not rollback)
            done = self._around_hooks(batch, told) if self._access.hooks else self._change(batch, told)
            results |= done
            tested = tested or batch.tested
            stopped = _reason(failed(results.values()), batches.max_failures)
        return HostsRun(self._fabric.name, self._target, True, tuple(results.values()), stopped, rollback, tested)

    def read(self, hosts: Sequence[Host], told: Told | None = None) -> tuple[NodeReading, ...]:
        """Return how ``hosts`` are set; nothing is changed. Raises RefusedError, RailweaveError."""
        inventory = inventory_of(self._access, hosts, self._fabric.name)
        return read_nodes(self._access, inventory, self._bundles(hosts), told) if hosts else ()

    def _change(self, batch: "_Batch", told: Told | None, *, confirm: bool = True) -> dict[str, HostResult]:
        done = {one.name: one for one in self._run(batch.hosts, batch.part, check=False, confirm=confirm, told=told)}
        changed = [host for host in batch.hosts if done[host.name].state is HostState.CHANGED]
        if not batch.is_first or not changed or not self._access.nic_settings:
            return done
        found = self._rdma_test(changed)
        batch.tested = found.text
        if not found.failed:
            return done
        back = self._run(changed, "rollback", check=False)
        return done | {
            one.name: HostResult(
                one.name,
                HostState.FAILED,
                (),
                f"{found.text}; {f'its rollback failed: {one.error}' if one.error else 'rolled back to its snapshot'}",
            )
            for one in back
        }

    def _rdma_test(self, hosts: Sequence[Host]) -> Tested:
        """Test between the first two of ``hosts``, which are drained where the target says how."""
        if len(hosts) < 2:
            return Tested("RDMA not tested: that takes two changed nodes in the first batch (hosts.batches.canary: 2)")
        ends = ends_of_test(self._fabric, *hosts[:2])
        if not ends:
            return Tested("")
        inventory = inventory_of(self._access, hosts[:2], self._fabric.name)
        bundles = self._bundles(hosts[:2], tests=ends)
        readings = read_nodes(self._access, inventory, bundles, part="rdma-test")
        return judged(readings, ends, self._access.batches.rdma_percent)

    def _around_hooks(self, batch: "_Batch", told: Told | None) -> dict[str, HostResult]:
        """Drain the nodes that will change, change them, and resume those that are verified.

        A node's snapshot stays open until it is resumed, so that a run which ended between is continued by the next.
        """
        results = {one.name: one for one in self._checked(batch.hosts, batch.part)}
        waiting = [host for host in batch.hosts if results[host.name].changes == (_GIVEN_BACK,)]
        results |= self._resumed(waiting, results)
        touched = [host for host in batch.hosts if host not in waiting and _will_change(results[host.name])]
        not_drained = {name: why for name, why in self._hooks.drain(touched).items() if why}
        results |= {
            name: HostResult(name, HostState.FAILED, (), f"not drained, and not changed: {why}")
            for name, why in not_drained.items()
        }
        drained = [host for host in touched if host.name not in not_drained]
        batch.hosts = drained
        done = self._change(batch, told, confirm=False)
        results |= {
            name: one if one.state in _FINE else replace(one, error=f"{one.error}; it stays drained")
            for name, one in done.items()
        }
        return results | self._resumed(drained, done)

    def _checked(self, hosts: Sequence[Host], part: str, told: Told | None = None) -> tuple[HostResult, ...]:
        """Return what would change; giving back what an earlier run left drained is a change as well."""
        left = self._hooks.left_drained()
        return tuple(
            _to_give_back(one) if one.name in left else one for one in self._run(hosts, part, check=True, told=told)
        )

    def _resumed(self, hosts: Sequence[Host], done: dict[str, HostResult]) -> dict[str, HostResult]:
        """Resume the verified nodes of ``hosts`` and close their snapshots; return those that failed on this."""
        verified = [host for host in hosts if done[host.name].state in _FINE]
        told = self._hooks.resume(verified)
        wrong = {
            name: replace(done[name], state=HostState.FAILED, error=f"changed and verified, but not resumed: {why}")
            for name, why in told.items()
            if why
        }
        closed = self._run([host for host in verified if host.name not in wrong], "confirm", check=False)
        return wrong | {
            one.name: replace(done[one.name], state=one.state, error=f"resumed, but its snapshot is open: {one.error}")
            for one in failed(closed)
        }

    def _bundles(
        self, hosts: Sequence[Host], *, confirm: bool = True, tests: Mapping[str, dict[str, Any]] | None = None
    ) -> dict[str, bytes]:
        programs = self._renderer.programs()
        backend, with_nics = self._fabric.policies.hosts.network, self._access.nic_settings
        return {
            host.name: bundle(
                self._renderer.files(host),
                self._renderer.places,
                backend,
                programs,
                nic_settings=with_nics,
                confirm=confirm,
                test=(tests or {}).get(host.name),
            )
            for host in hosts
        }

    def _run(
        self, hosts: Sequence[Host], part: str, *, check: bool, confirm: bool = True, told: Told | None = None
    ) -> tuple[HostResult, ...]:
        if not hosts:
            return ()
        bundles, inventory = self._bundles(hosts, confirm=confirm), inventory_of(self._access, hosts, self._fabric.name)
        return run_role(self._access, inventory, bundles, check=check, part=part, told=told)


@dataclass(slots=True)
class _Batch:
    """Nodes that are changed at once, and what the RDMA test on them gave where they are the first."""

    hosts: Sequence[Host]
    part: str
    is_first: bool
    tested: str = ""


_GIVEN_BACK = HostChange(ChangeKind.SETTING, "scheduler", "hook", "drained by a run that did not end", "resumed")


def _to_give_back(result: HostResult) -> HostResult:
    """Return a node that was left drained: one that is as intended is given back, and nothing else of it changes."""
    if result.state is HostState.CHANGED:
        return replace(result, changes=(*result.changes, _GIVEN_BACK))
    if result.state is HostState.UNCHANGED and not result.interrupted:
        return replace(result, state=HostState.CHANGED, changes=(_GIVEN_BACK,))
    return result


def _part(rollback: bool) -> str:
    return "rollback" if rollback else "change"


def _will_change(result: HostResult) -> bool:
    return result.state is HostState.CHANGED or (result.state is HostState.UNCHANGED and result.interrupted)


def _reason(bad: Sequence[HostResult], allowed: int) -> str:
    """Return why no further batch starts, empty where the budget lasts."""
    if len(bad) <= allowed:
        return ""
    first = bad[0]
    return f"{len(bad)} failed, {allowed} allowed; first {first.name}: {first.error}"
