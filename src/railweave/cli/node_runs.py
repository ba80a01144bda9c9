"""The GPU nodes of a fabric as a person meets them: which are meant, the plan, the question, the progress."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from railweave.api.project import Designed, find_target, load_designed, project_templates
from railweave.diagnostics import Where, error
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from railweave.fabric.model import Host
    from railweave.hosts.outcome import HostsRun, HostState
    from railweave_hosts.access import HostAccess
    from railweave_hosts.rollout import HostRollout
    from railweave_hosts.runner import NodeReading

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ReachedNodes:
    """The nodes that a command means, and the rollout that reaches them."""

    designed: Designed
    hosts: "tuple[Host, ...]"
    rollout: "HostRollout"
    target: str

    def plan(self) -> "HostsRun":
        """Return what would change, with progress on standard error."""
        return _shown("reading", len(self.hosts), lambda told: self.rollout.plan(self.hosts, told))

    def read(self) -> "tuple[NodeReading, ...]":
        """Return how the nodes are set, with progress on standard error."""
        return _shown("reading", len(self.hosts), lambda told: self.rollout.read(self.hosts, told))

    def apply(self) -> "HostsRun":
        """Change the nodes, with progress on standard error."""
        return _shown("changing", len(self.hosts), lambda told: self.rollout.apply(self.hosts, told))


def reached_nodes(path: Path, target: str, limit: str) -> ReachedNodes:
    """Return the nodes of the intent at ``path`` that ``limit`` names, all where it is empty.

    Raises RefusedError where the target reaches no nodes, or a name means none.
    """
    from nornir_railweave.target.target_file import load_target
    from railweave.cli.show import print_diagnostics
    from railweave.diagnostics import Severity

    designed = load_designed(path)
    print_diagnostics(one for one in designed.diagnostics if one.severity is not Severity.INFO)
    file = find_target(target)
    access = load_target(file).hosts
    if access is None:
        raise RefusedError(
            [
                error(
                    "RW806",
                    f"target {target} does not say how GPU nodes are reached",
                    Where(str(file)),
                    fix="add `hosts:` to it; inventory/production.example.yml shows how",
                )
            ]
        )
    return nodes_of(designed, limited(designed.fabric.hosts, limit), access, target)


def nodes_of(designed: Designed, hosts: "tuple[Host, ...]", access: "HostAccess", target: str) -> ReachedNodes:
    """Return ``hosts`` as they are reached by ``access``."""
    from railweave.hosts.render import HostRenderer
    from railweave_hosts.rollout import HostRollout

    renderer = HostRenderer(designed.fabric, project_templates())
    return ReachedNodes(designed, hosts, HostRollout(designed.fabric, renderer, access, target), target)


def left_alone(path: Path, target: str) -> bool:
    """Tell whether the intent leaves its nodes to somebody else, or the target does not reach any."""
    from nornir_railweave.target.target_file import load_target
    from railweave.intent.load import load_intent

    if not load_intent(path).policies.hosts.manage:
        return True
    if load_target(find_target(target)).hosts is None:
        print(f"the GPU nodes are left alone: target {target} does not say how they are reached", file=sys.stderr)
        return True
    return False


def limited(hosts: "Sequence[Host]", limit: str) -> "tuple[Host, ...]":
    """Return the nodes whose name or kind a comma-separated list of patterns names; raises RefusedError (RW807)."""
    patterns = [pattern for pattern in (part.strip() for part in limit.split(",")) if pattern]
    if not patterns:
        return tuple(hosts)
    unknown = [each for each in patterns if not any(_means(each, host) for host in hosts)]
    if unknown:
        names = [host.name for host in hosts]
        listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        raise RefusedError([error("RW807", f"no node is called {', '.join(unknown)}", fix=f"nodes are {listed}")])
    return tuple(host for host in hosts if any(_means(each, host) for each in patterns))


def _means(pattern: str, host: "Host") -> bool:
    return fnmatchcase(host.name, pattern) or host.kind == pattern


def refuse_unmanaged(nodes: ReachedNodes) -> None:
    """Raise RefusedError where the intent leaves the nodes to somebody else."""
    if not nodes.designed.fabric.policies.hosts.manage:
        raise RefusedError(
            [
                error(
                    "RW805",
                    f"the intent does not manage the nodes of {nodes.designed.fabric.name}",
                    nodes.designed.intent.where("hosts.manage"),
                    fix="write `hosts: {manage: true}` into the intent; `railweave hosts plan` shows what would change",
                )
            ]
        )


def agreed(nodes: ReachedNodes, *, as_json: bool) -> bool:
    """Show the plan and ask; True without a question where nothing would change."""
    from railweave.hosts.outcome import HostState

    if not sys.stdin.isatty():
        raise RailweaveError("without a terminal to ask on, hosts apply needs --yes")
    run = nodes.plan()
    if not as_json:
        show_run(run, as_json=False)
    changed = run.named(HostState.CHANGED)
    if not changed and run.ok:
        return True
    print(f"Change {len(changed)} nodes on {nodes.target}? Only `yes` goes on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def show_run(run: "HostsRun", *, as_json: bool, files: bool = False) -> None:
    """Print a run."""
    from railweave.cli.show import print_document, print_view
    from railweave.report.hosts import hosts_json, hosts_view

    if as_json:
        print_document(hosts_json(run))
    else:
        print_view(hosts_view(run, files=files))


_Outcome = TypeVar("_Outcome")


def _shown(title: str, count: int, work: "Callable[[Callable[[str, HostState], None]], _Outcome]") -> "_Outcome":
    """Return what ``work`` returns, with a bar on a terminal and a line for each node that fails elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from railweave.cli.show import console
    from railweave.hosts.outcome import HostState

    screen = console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:
        bar = bars.add_task(title, total=count)

        def told(name: str, state: HostState) -> None:
            bars.advance(bar)
            if state in {HostState.FAILED, HostState.UNREACHABLE}:
                screen.print(f"{name}: {state.value}", markup=False)

        return work(told)
