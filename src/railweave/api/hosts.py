"""The GPU nodes of a fabric, through Ansible: what would change on them, and the change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from nornir_railweave.rollout.node_log import NodeLog
from nornir_railweave.target.model import Target
from nornir_railweave.target.node_access import node_access
from nornir_railweave.target.secret_store import SecretStore
from nornir_railweave.target.target_file import load_target
from railweave.api.design.intent import Designed, load_configurable, project_templates
from railweave.api.design.revisions import phased_change
from railweave.api.journal.folder import journal_folder, shared_journals
from railweave.api.operator import Operator
from railweave.api.project import Project, find_target
from railweave.diagnostics import Severity, Where, error
from railweave.errors import RefusedError
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.changed_values import changed_values
from railweave.hosts.outcome import HostsRun
from railweave.hosts.places import Places
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent
from railweave.plan.phases.shared_values import NodeValues
from railweave.wording import command_line, compact, first_few, nearest
from railweave_hosts.access import HostAccess
from railweave_hosts.rollout import HostRollout
from railweave_hosts.runner import NodeReading

__all__ = ["apply", "managed", "plan", "rollback"]

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class LiveNodes:
    """The nodes that a command works on, and the rollout that reaches them."""

    designed: Designed
    hosts: tuple[Host, ...]
    rollout: HostRollout
    operator: Operator
    log: NodeLog
    is_rollback: bool = False

    def plan(self) -> HostsRun:
        """Return what would change."""
        with self.operator.node_progress("reading", len(self.hosts)) as listener:
            return self.rollout.plan(self.hosts, listener, rollback=self.is_rollback)

    def read(self) -> tuple[NodeReading, ...]:
        """Return the settings of the nodes."""
        with self.operator.node_progress("reading", len(self.hosts)) as listener:
            return self.rollout.read(self.hosts, listener)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other commands from changing the nodes; raises RefusedError while one does."""
        command = "hosts apply"
        if self.is_rollback:
            command = "hosts rollback"
        with self.log.held(command):
            yield

    def apply(self) -> HostsRun:
        """Change the nodes, which are `held`, batch by batch."""
        with self.operator.node_progress("changing", len(self.hosts)) as listener:
            return self.rollout.apply(self.hosts, listener, rollback=self.is_rollback)


def plan(project: Project, target: str, *, limit: str = "", base: str = "", phase: int | None = None) -> HostsRun:
    """Return what `apply` would change on the nodes that ``limit`` names, by default on all.

    ``limit`` is a comma-separated list of names, patterns and kinds. With ``phase`` the nodes are compared with that
    phase of the change from ``base``, the running intent. Raises RefusedError if the intent has errors, if the target
    does not reach nodes or if a name matches none.
    """
    values = None
    if base and phase:
        values = phased_change(project, base).phase(phase).node_values
    return live_nodes(project, target, limit, values).plan()


def apply(project: Project, target: str, *, limit: str = "", single_step: bool = False) -> HostsRun | None:
    """Configure the nodes that ``limit`` names as intended and read every setting back; None if the operator declined.

    Raises as `plan` does, and RefusedError if the intent does not manage its nodes, or if a marking or an MTU that they
    share with others would change in one step and neither ``single_step`` nor the target allows it.
    """
    nodes = agreed_nodes(project, target, limit=limit, single_step=single_step)
    if nodes is None:
        return None
    with nodes.held():
        return nodes.apply()


def agreed_nodes(
    project: Project, target: str, *, limit: str = "", single_step: bool = False, values: NodeValues | None = None
) -> LiveNodes | None:
    """Return the nodes that ``limit`` names if the operator agrees to their change, None if they declined.

    ``values`` are those of a phase (`deploy_node_phase`). Raises as `apply` does.
    """
    nodes = live_nodes(project, target, limit, values)
    if not nodes.designed.fabric.policies.hosts.manage:
        refused = error(
            "RW805",
            f"the intent does not manage the nodes of {nodes.designed.fabric.name}",
            nodes.designed.intent.where("hosts.manage"),
            fix="write `hosts: {manage: true}` into the intent; "
            f"`{command_line('hosts', 'plan')}` shows what would change",
        )
        raise RefusedError([refused])
    # Before the nodes are read: a pipeline without --yes fails at once.
    project.operator.require_answer("hosts apply")
    # In a phase the other nodes and the switches accept both the old and the new values.
    if values is None:
        _refuse_shared(nodes, target, single_step)
    if not project.operator.approves_nodes(nodes.plan, target):
        return None
    return nodes


def rollback(project: Project, target: str, *, limit: str = "", single_step: bool = False) -> HostsRun | None:
    """Restore the nodes that ``limit`` names from the snapshots that they took before their last change.

    Returns None if the operator declined. Nodes without a snapshot stay as they are. Raises as `plan` does, and
    RefusedError if a finished change of a marking or an MTU that the nodes share with others would be rolled back, and
    neither ``single_step`` nor the target allows it.
    """
    nodes = replace(live_nodes(project, target, limit), is_rollback=True)
    project.operator.require_answer("hosts rollback")
    _refuse_shared(nodes, target, single_step)
    if not project.operator.approves_nodes(nodes.plan, target):
        return None
    with nodes.held():
        return nodes.apply()


def managed(project: Project, target: str) -> bool:
    """Tell whether the intent manages its nodes and the target reaches them."""
    intent = load_intent(project.intent)
    if not intent.policies.hosts.manage:
        return False
    if node_access(intent.fabric, load_target(find_target(target))) is None:
        project.operator.tell(f"the GPU nodes are not changed: target {target} does not say how to reach them")
        return False
    return True


def _refuse_shared(nodes: LiveNodes, target: str, single_step: bool) -> None:
    """Raise RefusedError (RW808) if the plan of nodes changes values that all nodes and switches have in common.

    ``single_step`` is the consent to it. The rollback of a change that was interrupted is allowed, because the other
    nodes still have the old values.
    """
    nodes_follow = load_target(find_target(target)).nodes_follow
    if single_step or nodes_follow:
        return
    run = nodes.plan()
    changed = changed_values(run, Places(nodes.designed.fabric.part).document)
    if nodes.is_rollback:
        for host in run.hosts:
            if host.interrupted:
                changed.pop(host.name, None)
    if not changed:
        return
    names = tuple(changed)
    values_of_first = ", ".join(changed[names[0]])
    message = (
        f"{values_of_first} would change on {first_few(names, 1)}, and packets of nodes that have not"
        " changed yet would be lost"
    )
    fix = _shared_values_fix(is_rollback=nodes.is_rollback)
    raise RefusedError([error("RW808", message, devices=names, fix=fix)])


def _shared_values_fix(*, is_rollback: bool) -> str:
    """Return how values that nodes share are changed without losing packets, and how to change them all the same."""
    in_phases = command_line("deploy", "--from", "REV")
    nodes_alone = command_line("hosts", "apply", "--from", "REV", "--phase", "N")
    fix = (
        f"change switches and nodes in phases with `{in_phases}`, where REV is the git"
        f" revision that is deployed, or nodes alone with `{nodes_alone}`; or, where nothing uses the fabric, "
    )
    if is_rollback:
        return (
            f"write the old values into the intent and {fix}or others never left the old values, roll back with"
            " --single-step"
        )
    return f"{fix}apply with --single-step"


def live_nodes(project: Project, target: str, limit: str = "", values: NodeValues | None = None) -> LiveNodes:
    """Return the nodes that ``limit`` names, to be configured with ``values``, by default those of the intent.

    Raises as `plan` does.
    """
    designed = load_configurable(project.intent)
    # Information belongs to `check` and `size`, and would be repeated by every command here.
    project.operator.warn(diagnostic for diagnostic in designed.diagnostics if diagnostic.severity is not Severity.INFO)
    file = find_target(target)
    loaded = load_target(file)
    access = node_access(designed.fabric.name, loaded)
    if access is None:
        refused = error(
            "RW806",
            f"target {target} does not say how to reach the GPU nodes",
            Where(str(file)),
            fix="add `hosts:` to it; see inventory/production.example.yml",
        )
        raise RefusedError([refused])
    names = selected({host.name: host.kind for host in designed.fabric.hosts}, limit)
    hosts = tuple(host for host in designed.fabric.hosts if host.name in names)
    values = values or NodeValues(accepts=designed.fabric, sends=designed.fabric)
    return reach_nodes(project, replace(designed, fabric=values.accepts), hosts, loaded, access, values.sends)


def reach_nodes(
    project: Project,
    designed: Designed,
    hosts: tuple[Host, ...],
    target: Target,
    access: HostAccess,
    sends: Fabric | None = None,
) -> LiveNodes:
    """Return ``hosts`` as reached by ``access``, which is the ``hosts`` section of ``target``.

    They are configured to send what ``sends`` says, by default what they accept. Raises RefusedError if a secret of
    ``access`` is missing.
    """
    access = with_secrets(access, target)
    renderer = HostRenderer(designed.fabric, project_templates(), sends, access.before)
    log = node_log(designed.fabric.name, target.name)
    rollout = HostRollout(designed.fabric, renderer, access, target.name, log)
    return LiveNodes(designed, hosts, rollout, project.operator, log)


def with_secrets(access: HostAccess, target: Target) -> HostAccess:
    """Return ``access`` with the secrets that its login names; raises RefusedError if one is missing."""
    store = SecretStore(target)
    # Before Ansible starts, which would fail node by node.
    missing = store.missing(dict.fromkeys(access.login.secrets, Where(f"inventory/{target.name}.yml")))
    if missing:
        raise RefusedError(missing)
    return replace(access, secrets=store.values)


def node_log(fabric: str, target: str) -> NodeLog:
    """Return the log of the nodes of a fabric on a target, where the project's journals lie."""
    return NodeLog(journal_folder(), fabric, target, shared_journals())


def selected(kinds: Mapping[str, str], limit: str) -> frozenset[str]:
    """Return the devices that match a comma-separated list of patterns of names, roles or kinds; all if it is empty.

    ``kinds`` holds the role or kind of each device. Raises RefusedError (RW807) if a pattern matches none.
    """
    patterns = [part.strip() for part in limit.split(",") if part.strip()]
    if not patterns:
        return frozenset(kinds)
    matches: set[str] = set()
    unknown = []
    for pattern in patterns:
        names = _matching(kinds, pattern)
        matches |= names
        # All patterns without a device are reported together, not only the first.
        if not names:
            unknown.append(pattern)
    if unknown:
        raise _no_device(kinds, unknown)
    return frozenset(matches)


def _no_device(kinds: Mapping[str, str], unknown: Sequence[str]) -> RefusedError:
    """Return the error for patterns that match no device, with the names that are close to them."""
    fix = f"choose from {compact(kinds, _MOST_NAMED)}"
    candidates = [*kinds, *kinds.values()]
    suggestions = [nearest(pattern, candidates) for pattern in unknown]
    # Each name once: two misspelled patterns may be close to the same name.
    close_names = dict.fromkeys(name for name in suggestions if name)
    if close_names:
        fix = f"did you mean {', '.join(close_names)}? {fix}"
    return RefusedError([error("RW807", f"no device is named {', '.join(unknown)}", fix=fix)])


def _matching(kinds: Mapping[str, str], pattern: str) -> set[str]:
    """Return the devices of the role or kind ``pattern``, and those whose names match it as a pattern of a shell."""
    return {name for name, kind in kinds.items() if pattern == kind or fnmatchcase(name, pattern)}
