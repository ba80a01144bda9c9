"""Bring the nodes of a fabric in line with the intent: a dry run on all of them, or a change batch by batch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostsRun, HostState, failed
from railweave.hosts.render import HostRenderer
from railweave_hosts.access import HostAccess, inventory_of
from railweave_hosts.bundle import bundle
from railweave_hosts.hooks import HookLog, HookRunner
from railweave_hosts.rdma_test import Tested, ends_of_test, judged
from railweave_hosts.runner import NodeReading, Report, in_batches, read_nodes, run_role

_SUCCEEDED = {HostState.UNCHANGED, HostState.CHANGED}


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

    def plan(self, hosts: Sequence[Host], report: Report | None = None, *, rollback: bool = False) -> HostsRun:
        """Return what an apply or a rollback would change on ``hosts``; nothing is changed.

        Raises RefusedError, RailweaveError.
        """
        results = self._planned(hosts, _part(rollback), report)
        return HostsRun(self._fabric.name, self._target, applied=False, hosts=results, is_rollback=rollback)

    def apply(self, hosts: Sequence[Host], report: Report | None = None, *, rollback: bool = False) -> HostsRun:
        """Apply the intent to ``hosts`` batch by batch, or roll them back to their snapshots; return the results.

        If more nodes fail than the budget allows, no further batch starts. Raises RefusedError, RailweaveError.
        """
        # Refuses nodes without an address before the first batch.
        inventory_of(self._access, hosts, self._fabric.name)
        batches = self._access.batches
        by_name = {host.name: host for host in hosts}
        results: dict[str, HostResult] = {}
        stopped = ""
        tested = ""
        for names in in_batches(list(by_name), batches.canary, batches.size):
            if stopped:
                results |= {name: HostResult(name, HostState.NOT_ATTEMPTED) for name in names}
                continue
            # A failed RDMA test rolls the first batch back, so a rollback is not tested itself.
            is_tested = not results and not rollback
            batch = _Batch([by_name[name] for name in names], _part(rollback), is_tested=is_tested)
            if self._access.hooks:
                results |= self._change_drained(batch, report)
            else:
                results |= self._change(batch, report)
            tested = tested or batch.tested
            stopped = _stop_reason(failed(results.values()), batches.max_failures)
        return HostsRun(
            fabric=self._fabric.name,
            target=self._target,
            applied=True,
            hosts=tuple(results.values()),
            stopped_by=stopped,
            is_rollback=rollback,
            tested=tested,
        )

    def read(self, hosts: Sequence[Host], report: Report | None = None) -> tuple[NodeReading, ...]:
        """Return the settings of ``hosts``; nothing is changed. Raises RefusedError, RailweaveError."""
        inventory = inventory_of(self._access, hosts, self._fabric.name)
        if not hosts:
            return ()
        return read_nodes(self._access, inventory, self._bundles(hosts), report)

    def _change(self, batch: "_Batch", report: Report | None, *, confirm: bool = True) -> dict[str, HostResult]:
        """Change the nodes of a batch and return their results by name.

        If the batch is tested and the RDMA test fails, its changed nodes are rolled back. ``confirm`` closes the
        snapshots of the nodes.
        """
        changes = self._run(batch.hosts, batch.part, check=False, confirm=confirm, report=report)
        results = _by_name(changes)
        changed = [host for host in batch.hosts if results[host.name].state is HostState.CHANGED]
        if not batch.is_tested or not changed or not self._access.nic_settings:
            return results
        test = self._rdma_test(changed)
        batch.tested = test.text
        if test.failed:
            results |= self._roll_back(changed, test.text)
        return results

    def _roll_back(self, hosts: Sequence[Host], why: str) -> dict[str, HostResult]:
        """Roll nodes back to their snapshots; return a failure of each by name, with the reason ``why``."""
        results: dict[str, HostResult] = {}
        for result in self._run(hosts, "rollback", check=False):
            outcome = "rolled back to its snapshot"
            if result.error:
                outcome = f"its rollback failed: {result.error}"
            results[result.name] = HostResult(result.name, HostState.FAILED, (), f"{why}; {outcome}")
        return results

    def _rdma_test(self, hosts: Sequence[Host]) -> Tested:
        """Test RDMA between the first two of ``hosts``, which are drained if the target has hooks for that.

        Return the result, or why there was no test.
        """
        if len(hosts) < 2:
            return Tested("RDMA not tested: that takes two changed nodes in the first batch (hosts.batches.canary: 2)")
        ends = ends_of_test(self._fabric, *hosts[:2])
        if not ends:
            return Tested("")
        inventory = inventory_of(self._access, hosts[:2], self._fabric.name)
        bundles = self._bundles(hosts[:2], tests=ends)
        readings = read_nodes(self._access, inventory, bundles, part="rdma-test")
        return judged(readings, ends, self._access.batches.rdma_percent)

    def _change_drained(self, batch: "_Batch", report: Report | None) -> dict[str, HostResult]:
        """Drain the nodes of a batch that will change, change them, and resume those that are verified.

        Return the results of all nodes of the batch by name. A node's snapshot stays open until it is resumed, so that
        the next run continues one that ended in between.
        """
        results = _by_name(self._planned(batch.hosts, batch.part))
        # Nodes that an earlier run changed and left drained.
        only_to_resume = [host for host in batch.hosts if results[host.name].changes == (_RESUMED,)]
        results |= self._resume(only_to_resume, results)
        to_change = [host for host in batch.hosts if host not in only_to_resume and _will_change(results[host.name])]
        drain_failures = self._drain(to_change)
        batch.hosts = [host for host in to_change if host.name not in drain_failures]
        changed = self._change(batch, report, confirm=False)
        for name, result in changed.items():
            results[name] = _left_drained(result)
        return results | drain_failures | self._resume(batch.hosts, changed)

    def _drain(self, hosts: Sequence[Host]) -> dict[str, HostResult]:
        """Drain nodes; return a failure by name for each that could not be drained."""
        results: dict[str, HostResult] = {}
        for name, error in self._hooks.drain(hosts).items():
            if error:
                results[name] = HostResult(name, HostState.FAILED, (), f"not drained, and not changed: {error}")
        return results

    def _planned(self, hosts: Sequence[Host], part: str, report: Report | None = None) -> tuple[HostResult, ...]:
        """Return what a part would change; to resume a node that an earlier run left drained is a change as well."""
        left_drained = self._hooks.left_drained()
        results = []
        for result in self._run(hosts, part, check=True, report=report):
            if result.name in left_drained:
                results.append(_to_resume(result))
            else:
                results.append(result)
        return tuple(results)

    def _resume(self, hosts: Sequence[Host], results: dict[str, HostResult]) -> dict[str, HostResult]:
        """Resume those of ``hosts`` that succeeded by ``results``, and close their snapshots.

        Return a failure by name for each node whose resume or snapshot failed.
        """
        verified = [host for host in hosts if results[host.name].state in _SUCCEEDED]
        failures: dict[str, HostResult] = {}
        for name, error in self._hooks.resume(verified).items():
            if error:
                message = f"changed and verified, but not resumed: {error}"
                failures[name] = replace(results[name], state=HostState.FAILED, error=message)
        resumed = [host for host in verified if host.name not in failures]
        for result in failed(self._run(resumed, "confirm", check=False)):
            message = f"resumed, but its snapshot is open: {result.error}"
            failures[result.name] = replace(results[result.name], state=result.state, error=message)
        return failures

    def _bundles(
        self, hosts: Sequence[Host], *, confirm: bool = True, tests: Mapping[str, dict[str, Any]] | None = None
    ) -> dict[str, bytes]:
        """Return the bundle of each of ``hosts`` by name; ``tests`` are the nodes' parts of an RDMA test, by name."""
        programs = self._renderer.programs()
        return {
            host.name: bundle(
                self._renderer.files(host),
                self._renderer.places,
                self._fabric.policies.hosts.network,
                programs,
                nic_settings=self._access.nic_settings,
                confirm=confirm,
                test=(tests or {}).get(host.name),
            )
            for host in hosts
        }

    def _run(
        self, hosts: Sequence[Host], part: str, *, check: bool, confirm: bool = True, report: Report | None = None
    ) -> tuple[HostResult, ...]:
        """Run a part of the role on ``hosts`` and return their results; ``check`` changes nothing.

        ``confirm`` closes the snapshots with the change. Raises RefusedError, RailweaveError.
        """
        if not hosts:
            return ()
        bundles = self._bundles(hosts, confirm=confirm)
        inventory = inventory_of(self._access, hosts, self._fabric.name)
        return run_role(self._access, inventory, bundles, check=check, part=part, report=report)


@dataclass(slots=True)
class _Batch:
    """Nodes that are changed at once; with ``is_tested`` RDMA is tested between them, and ``tested`` is the result."""

    hosts: Sequence[Host]
    part: str
    is_tested: bool
    tested: str = ""


_RESUMED = HostChange(ChangeKind.SETTING, "scheduler", "hook", "drained by a run that did not end", "resumed")


def _to_resume(result: HostResult) -> HostResult:
    """Return the result of a node that was left drained, with the change that it will be resumed."""
    if result.state is HostState.CHANGED:
        return replace(result, changes=(*result.changes, _RESUMED))
    if result.state is HostState.UNCHANGED and not result.interrupted:
        return replace(result, state=HostState.CHANGED, changes=(_RESUMED,))
    return result


def _part(rollback: bool) -> str:
    """Return the part of the role that applies the intent, or that rolls back."""
    if rollback:
        return "rollback"
    return "change"


def _by_name(results: Iterable[HostResult]) -> dict[str, HostResult]:
    return {result.name: result for result in results}


def _will_change(result: HostResult) -> bool:
    """Tell whether a node will be changed, by the result of its check."""
    if result.state is HostState.CHANGED:
        return True
    # An interrupted run left a snapshot open, which only another change or a rollback closes.
    return result.state is HostState.UNCHANGED and result.interrupted


def _left_drained(result: HostResult) -> HostResult:
    """Return the result of a change on a drained node; a failed node stays drained, and its error says so."""
    if result.state in _SUCCEEDED:
        return result
    return replace(result, error=f"{result.error}; it stays drained")


def _stop_reason(failures: Sequence[HostResult], allowed: int) -> str:
    """Return why no further batch starts; empty if no more nodes failed than ``allowed``."""
    if len(failures) <= allowed:
        return ""
    first = failures[0]
    return f"{len(failures)} failed, {allowed} allowed; first {first.name}: {first.error}"
