"""Acceptance tests carried out on a target: what must hold before, the run, and what is given back after it."""

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from nornir_railweave.target.connect import run_on
from nornir_railweave.target.model import Source
from nornir_railweave.target.node_access import node_access, pace_of_tests
from nornir_railweave.tasks.counters import read_counters
from nornir_railweave.tasks.read_status import read_status
from railweave.acceptance.document import PLAN_FILE, ReadPlan, read_plan
from railweave.acceptance.levels import COUNTED
from railweave.acceptance.running.answers import NodeAnswer, SwitchReading
from railweave.acceptance.running.forms import FORMS_FOLDER, forms_of
from railweave.acceptance.running.journal import JOURNAL_FILE, AcceptanceProgress
from railweave.acceptance.running.node_state import node_state, state_remarks
from railweave.acceptance.running.node_work import limited_rounds
from railweave.acceptance.running.request import RunRequest, RunSummary, refused_progress
from railweave.acceptance.running.runner import AcceptanceRunner
from railweave.acceptance.running.slowness import measured_slowness
from railweave.api.design.analysis import check
from railweave.api.design.intent import project_templates
from railweave.api.facts import DeviceFacts, node_reading, switch_readings, write_readings
from railweave.api.hosts import node_log, selected, with_secrets
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.verification import verify
from railweave.diagnostics import Diagnostic, Severity, Where, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.files import cannot_write
from railweave.hosts.render import HostRenderer
from railweave.plan.outcome import VerifyResult
from railweave.sonic.counter_keys import polled_every_ms
from railweave.wording import command_line, first_few
from railweave_hosts.acceptance import AnsibleNodes
from railweave_hosts.access import HostAccess
from railweave_hosts.hooks import HookLog, HookRunner

__all__ = ["run", "write_forms"]

FACTS_FOLDER = "facts"
"""The name of the folder within the directory of a plan that holds the settings of devices before the run."""

_MOST_CHECKS = 20
_EXECUTABLE = 0o755


def run(
    project: Project, folder: Path, target: str, *, resume: bool = False, limit: str = "", idle: bool = False
) -> RunSummary:
    """Carry out the plan in ``folder`` on ``target`` and store results and counters there.

    ``resume`` continues a run that ended early. With ``limit`` only the tests between nodes that it names are run.
    ``idle`` says that no job uses the nodes, where the target has no hooks to drain them. Raises RefusedError if the
    fabric or the nodes are not as intended, if nodes are in use, or if the directory belongs to another plan or run;
    UsageError for an unknown target, or if ``limit`` leaves no test.
    """
    stored_plan = read_plan(folder)
    # Without the operator: the warnings of the intent are shown by the verification below.
    live = live_fabric(Project(project.intent), target)
    _refuse_other_intent(stored_plan, live, project, folder)
    hosts = _limited_hosts(stored_plan, live, limit)
    access = _access(live, hosts, idle=idle)
    request = _request(stored_plan, live, hosts, folder, limit)
    fabric = live.designed.fabric
    renderer = HostRenderer(fabric, project_templates(), None, access.before)
    nodes = AnsibleNodes(fabric.name, renderer, access, hosts, project.operator.node_progress)
    runner = AcceptanceRunner(request, nodes, _Switches(live), _Clock(), project.operator.round_started)
    _refuse_earlier_run(runner, request, resume=resume)
    _refuse_unverified(verify(project, target, counters=False))
    log = node_log(fabric.name, live.target.name)
    with live.progress(), log.held("acceptance run"):
        answers = runner.prepare()
        switches = _store_and_check_settings(project, live, request, answers, has_nics=access.nic_settings)
        runner.poll_s = _longest_poll_s(switches)
        runner.files.write_running(_running_digests(live, request.switches))
        for remark in state_remarks(answers, stored_plan.plan.tests):
            project.operator.tell(remark)
        reachable_hosts = [host for host in hosts if not answers[host.name].error]
        with drained(project.operator, fabric, access, reachable_hosts, log):
            return runner.run()


def _request(stored_plan: ReadPlan, live: LiveFabric, hosts: Sequence[Host], folder: Path, limit: str) -> RunRequest:
    """Return what is to be run; raises UsageError if the limit leaves no test."""
    names = tuple(host.name for host in hosts)
    rounds = limited_rounds(stored_plan.plan, names)
    if not rounds:
        raise UsageError(f"no test of the plan is between these nodes alone: --limit {limit}")
    slowness = None
    if live.target.source is not Source.ADDRESSES:
        slowness = measured_slowness
    return RunRequest(
        folder=folder,
        read=stored_plan,
        rounds=rounds,
        nodes=names,
        switches=tuple(device.name for device in stored_plan.plan.devices),
        limit=limit,
        factor=pace_of_tests(live.designed.fabric.name, live.target),
        slowness=slowness,
    )


class _Clock:
    """The clock of the machine that runs railweave."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class _Switches:
    """The switches of a fabric, over sessions that stay open from round to round."""

    def __init__(self, live: LiveFabric) -> None:
        self._live = live

    def read(self, names: Iterable[str]) -> dict[str, SwitchReading]:
        """Return the counters of switches."""
        readings = read_counters(self._live.nornir, list(names))
        return {
            name: SwitchReading(reading.counters, reading.error, reading.answered) for name, reading in readings.items()
        }


def _refuse_other_intent(stored_plan: ReadPlan, live: LiveFabric, project: Project, folder: Path) -> None:
    """Raise RefusedError unless the plan was made from the intent that is about to be verified."""
    designed = live.designed
    plan = stored_plan.plan
    if plan.fabric == designed.fabric.name and plan.intent_sha256 == designed.intent.sha256:
        return
    message = f"the plan of {plan.fabric} was made from another intent than {project.intent}"
    fix = f"make the plan again: `{command_line('acceptance', 'plan', '--out', 'DIR')}`"
    raise RefusedError([error("RW961", message, Where(str(folder / PLAN_FILE)), fix=fix)])


def _limited_hosts(stored_plan: ReadPlan, live: LiveFabric, limit: str) -> tuple[Host, ...]:
    """Return the nodes of the plan that ``limit`` names, all of them without a limit."""
    kind_of = {node.name: node.kind for node in stored_plan.plan.nodes}
    names = selected(kind_of, limit)
    return tuple(host for host in live.designed.fabric.hosts if host.name in names)


def _access(live: LiveFabric, hosts: Sequence[Host], *, idle: bool) -> HostAccess:
    """Return how the nodes are reached, with the secrets for that.

    Raises RefusedError if the target does not say how, or if nothing says that no job uses the nodes.
    """
    target = live.target
    access = node_access(live.designed.fabric.name, target)
    if access is None:
        raise RefusedError([_no_access(live)])
    # Nodes of the simulator run no jobs. Hooks drain real ones, or check that they are drained.
    has_hooks = access.hooks.drain or access.hooks.drained
    may_be_in_use = target.source is Source.ADDRESSES and not has_hooks and not idle
    if may_be_in_use:
        message = f"nothing says that no job uses {first_few([host.name for host in hosts], 3)}"
        fix = "add `hosts.hooks` with `drain` or `drained` to the target, or give --idle if you have drained the nodes"
        raise RefusedError([error("RW963", message, Where(f"inventory/{target.name}.yml"), fix=fix)])
    return with_secrets(access, target)


def _no_access(live: LiveFabric) -> Diagnostic:
    """Return the error for a target that does not say how to reach its nodes, with the fix."""
    target = live.target
    if target.source is not Source.SIM:
        message = f"target {target.name} does not say how to reach the GPU nodes"
        fix = "add `hosts:` to it; see inventory/production.example.yml"
        return error("RW806", message, Where(f"inventory/{target.name}.yml"), fix=fix)
    start = f"run `{command_line('sim', 'up')}` as root on Linux"
    fix = f"{start}, after `{command_line('sim', 'down')}` if the simulator was started without root"
    if not live.designed.fabric.policies.hosts.manage:
        fix = f"write `hosts: {{manage: true}}` into the intent and {start}"
    return error("RW806", f"the simulator of {live.designed.fabric.name} runs without GPU nodes", fix=fix)


def _refuse_earlier_run(runner: AcceptanceRunner, request: RunRequest, *, resume: bool) -> None:
    """Raise RefusedError if the directory holds a run that this one neither resumes nor may replace."""
    reason = refused_progress(runner.progress, request.read.sha256, request.limit, resume=resume)
    if not reason:
        return
    journal = request.folder / JOURNAL_FILE
    fix = f"continue with --resume and the same --limit, or remove {journal} to begin anew"
    if _is_finished(runner.progress, request):
        # Even if --limit or the settings differ from that run's: resuming with the same ones would test nothing.
        judge_command = command_line("acceptance", "judge", str(request.folder))
        fix = f"judge what they measured by `{judge_command}`, or remove {journal} to test again"
    raise RefusedError([error("RW962", reason, Where(str(journal)), fix=fix)])


def _is_finished(progress: AcceptanceProgress, request: RunRequest) -> bool:
    """Tell whether earlier runs left nothing to continue."""
    if progress.plan_sha256 != request.read.sha256:
        return False
    return progress.done >= {planned.id for planned in request.rounds}


def _refuse_unverified(result: VerifyResult) -> None:
    """Raise RefusedError with the first failed checks: a measured bandwidth would show the same faults less clearly."""
    if result.ok:
        return
    fix = f"repair it first; `{command_line('verify')}` shows all checks"
    diagnostics = []
    for failure in result.failed[:_MOST_CHECKS]:
        message = f"{failure.device} {failure.kind.value} {failure.subject}: {failure.actual}, not {failure.expected}"
        diagnostics.append(error("RW964", message, devices=(failure.device,), fix=fix))
    raise RefusedError(diagnostics)


def _store_and_check_settings(
    project: Project, live: LiveFabric, request: RunRequest, answers: Mapping[str, NodeAnswer], *, has_nics: bool
) -> list[DeviceFacts]:
    """Store the settings of switches and nodes, compare them with the intent, and return those of the switches.

    Raises RefusedError if settings are not as intended.
    """
    fabric = live.designed.fabric
    folder = request.folder / FACTS_FOLDER
    # Settings of an earlier run are not those of today.
    shutil.rmtree(folder, ignore_errors=True)
    switches = write_readings(folder, switch_readings(live, list(request.switches)))
    nodes = []
    for name, answer in answers.items():
        facts = answer.document.get("facts")
        nodes.append(node_reading(fabric, fabric.host_of[name], facts, answer.error, has_nics=has_nics))
        _write(request.folder / "nodes" / f"{name}.json", json.dumps(node_state(answer), indent=1) + "\n")
    write_readings(folder, nodes)
    diagnostics = check(project, facts=folder).diagnostics
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    if errors:
        raise RefusedError(errors)
    return switches


def _longest_poll_s(switches: Iterable[DeviceFacts]) -> float:
    """Return the longest interval in seconds in which one of the switches polls what is judged."""
    longest_ms = 0
    for switch in switches:
        if switch.error:
            continue
        tables = json.loads(switch.text)
        for group in COUNTED:
            longest_ms = max(longest_ms, polled_every_ms(tables, group))
    return longest_ms / 1000


def _running_digests(live: LiveFabric, names: Sequence[str]) -> dict[str, str]:
    """Return the digests of the intents that switches run by name, without switches whose digest is unknown."""
    digests = {}
    for name, status in run_on(live.nornir, names, read_status).items():
        if status is not None and status.generation.digest:
            digests[name] = status.generation.digest
    return digests


@contextmanager
def drained(
    operator: Operator, fabric: Fabric, access: HostAccess, hosts: Sequence[Host], log: HookLog
) -> Iterator[None]:
    """Drain nodes by the target's hooks, and undrain them at the end; raises RefusedError if one stays in use.

    They are undrained after an exception too, and with them the nodes that a killed run left drained.
    """
    hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)
    left_drained = hooks.left_drained()
    try:
        refused = _in_use(hooks.drain(hosts))
        if refused:
            raise RefusedError(refused)
        yield
    finally:
        drained_names = {host.name for host in hosts} | left_drained
        drained_hosts = [host for host in fabric.hosts if host.name in drained_names]
        # A second runner, because an interrupt stops the first one for good.
        undrain_hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)
        for name, reason in undrain_hooks.resume(drained_hosts).items():
            if reason:
                operator.tell(f"{name} stays drained: {reason}")


def _in_use(reasons: Mapping[str, str]) -> list[Diagnostic]:
    """Return an error for each node that is not drained; ``reasons`` are by node, empty for drained ones."""
    fix = "wait for its jobs, or leave it out with --limit"
    diagnostics = []
    for name, reason in reasons.items():
        if reason:
            diagnostics.append(error("RW965", f"{name} is not drained: {reason}", devices=(name,), fix=fix))
    return diagnostics


def write_forms(folder: Path) -> tuple[Path, ...]:
    """Write scripts that run the plan in ``folder`` by Slurm or mpirun, and return their paths. Touches no device."""
    paths = []
    for name, text in forms_of(read_plan(folder)).items():
        path = folder / FORMS_FOLDER / name
        _write(path, text)
        if name.endswith(".sh"):
            path.chmod(_EXECUTABLE)
        paths.append(path)
    return tuple(paths)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise RailweaveError(cannot_write(path, fault)) from fault
