"""The GPU nodes of a fabric, through Ansible: what would change on them, and the change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from nornir_railweave.target.model import Target
from nornir_railweave.target.secret_store import SecretStore
from nornir_railweave.target.target_file import load_target
from railweave.api.designing import Designed, load_designed, project_templates
from railweave.api.operator import Operator
from railweave.api.project import Project, find_target
from railweave.diagnostics import Severity, Where, error
from railweave.errors import RefusedError
from railweave.fabric.model import Host
from railweave.hosts.outcome import HostsRun
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent
from railweave.wording import compact
from railweave_hosts.access import HostAccess
from railweave_hosts.rollout import HostRollout
from railweave_hosts.runner import NodeReading

__all__ = ["apply", "managed", "plan"]

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class LiveNodes:
    """The nodes that a command works on, and the rollout that reaches them."""

    designed: Designed
    hosts: tuple[Host, ...]
    rollout: HostRollout
    operator: Operator

    def plan(self) -> HostsRun:
        """Return what would change."""
        with self.operator.node_progress("reading", len(self.hosts)) as listener:
            return self.rollout.plan(self.hosts, listener)

    def read(self) -> tuple[NodeReading, ...]:
        """Return the settings of the nodes."""
        with self.operator.node_progress("reading", len(self.hosts)) as listener:
            return self.rollout.read(self.hosts, listener)

    def apply(self) -> HostsRun:
        """Change the nodes, batch by batch."""
        with self.operator.node_progress("changing", len(self.hosts)) as listener:
            return self.rollout.apply(self.hosts, listener)


def plan(project: Project, target: str, *, limit: str = "") -> HostsRun:
    """Return what `apply` would change on the nodes that ``limit`` names, by default on all.

    ``limit`` is a comma-separated list of names, patterns and kinds. Raises RefusedError if the intent has errors, if
    the target does not reach nodes or if a name matches none.
    """
    return live_nodes(project, target, limit).plan()


def apply(project: Project, target: str, *, limit: str = "") -> HostsRun | None:
    """Configure the nodes that ``limit`` names as intended and read every setting back; None if the operator declined.

    Raises as `plan` does, and RefusedError if the intent does not manage its nodes.
    """
    nodes = live_nodes(project, target, limit)
    if not nodes.designed.fabric.policies.hosts.manage:
        refused = error(
            "RW805",
            f"the intent does not manage the nodes of {nodes.designed.fabric.name}",
            nodes.designed.intent.where("hosts.manage"),
            fix="write `hosts: {manage: true}` into the intent; `railweave hosts plan` shows what would change",
        )
        raise RefusedError([refused])
    project.operator.require_answer("hosts apply")
    return nodes.apply() if project.operator.approves_nodes(nodes.plan, target) else None


def managed(project: Project, target: str) -> bool:
    """Tell whether the intent manages its nodes and the target reaches them."""
    if not load_intent(project.intent).policies.hosts.manage:
        return False
    if load_target(find_target(target)).hosts is None:
        project.operator.tell(f"the GPU nodes are not changed: target {target} does not say how to reach them")
        return False
    return True


def live_nodes(project: Project, target: str, limit: str = "") -> LiveNodes:
    """Return the nodes that ``limit`` names; raises as `plan` does."""
    designed = load_designed(project.intent)
    project.operator.warn(one for one in designed.diagnostics if one.severity is not Severity.INFO)
    file = find_target(target)
    chosen_target = load_target(file)
    if chosen_target.hosts is None:
        refused = error(
            "RW806",
            f"target {target} does not say how to reach the GPU nodes",
            Where(str(file)),
            fix="add `hosts:` to it; see inventory/production.example.yml",
        )
        raise RefusedError([refused])
    hosts = designed.fabric.hosts
    chosen = selected({host.name: host.kind for host in hosts}, limit)
    named = tuple(host for host in hosts if host.name in chosen)
    return reach_nodes(project, designed, named, chosen_target, chosen_target.hosts)


def reach_nodes(
    project: Project, designed: Designed, hosts: tuple[Host, ...], target: Target, access: HostAccess
) -> LiveNodes:
    """Return ``hosts`` as reached by ``access``, the ``hosts`` of ``target``; raises RefusedError for its secrets."""
    store = SecretStore(target)
    if missing := store.missing(dict.fromkeys(access.login.secrets, Where(f"inventory/{target.name}.yml"))):
        raise RefusedError(missing)
    access = replace(access, secrets=store.values)
    renderer = HostRenderer(designed.fabric, project_templates())
    rollout = HostRollout(designed.fabric, renderer, access, target.name)
    return LiveNodes(designed, hosts, rollout, project.operator)


def selected(kinds: Mapping[str, str], limit: str) -> frozenset[str]:
    """Return the devices that a comma-separated list of patterns means by name, role or kind; all if it is empty.

    ``kinds`` holds the role or kind of each device. Raises RefusedError (RW807) if a pattern matches none.
    """
    patterns = [part.strip() for part in limit.split(",") if part.strip()]
    found = {
        pattern: {name for name, kind in kinds.items() if fnmatchcase(name, pattern) or kind == pattern}
        for pattern in patterns
    }
    if unknown := [pattern for pattern, names in found.items() if not names]:
        fix = f"choose from {compact(kinds, _MOST_NAMED)}"
        raise RefusedError([error("RW807", f"no device is named {', '.join(unknown)}", fix=fix)])
    return frozenset(kinds if not patterns else set().union(*found.values()))
