"""`deploy --from BASE`: phase after phase as long as no hands are needed, then the words that say what they must do."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.deploying import Agreement, deploy
from railweave.api.phasing import Missing, Phasing, find_phases, refuse_number_alone
from railweave.api.project import Project
from railweave.cli.terminal import exit_status, show_result
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError

if TYPE_CHECKING:
    from railweave.plan.outcome import DeployResult
    from railweave.plan.phases import Phase

_SHOWN = 4


def deploy_in_phases(
    project: Project,
    target: str,
    reviewed: Path | None,
    agreement: Agreement,
    base: str,
    number: int | None,
    *,
    quiet: bool,
) -> int:
    """Carry out the phase ``number``, or every one that needs no hands, and return the exit status.

    A phase whose cables or nodes are left to people ends the command in words, with status 0. Raises RefusedError where
    a phase must not begin, with nothing done.
    """
    if not base:
        refuse_number_alone(number)
    run = _Run(find_phases(project, base), target, agreement, quiet)
    if number is None and reviewed is not None:
        number = run.next_number()
    status = run.all() if number is None else run.one(number, reviewed)
    if quiet:
        from railweave.cli.show import print_document

        print_document(run.document())
    return status


@dataclass(slots=True)
class _Run:
    """Phases on their way: ``steps`` are those carried out, ``waiting`` is what people must do now."""

    phasing: Phasing
    target: str
    agreement: Agreement
    quiet: bool
    steps: list[dict[str, Any]] = field(default_factory=list)
    waiting: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return what was done, for programs."""
        return {"phases": len(self.phasing.phases), "steps": self.steps, "waiting": self.waiting}

    def next_number(self) -> int:
        """Return the phase that comes next, by what the switches run."""
        return min(self._done(None) + 1, len(self.phasing.phases))

    def all(self) -> int:
        """Carry out what needs no hands, beginning where the switches are."""
        if len(self.phasing.phases) == 1:
            return self._switches(1, None)
        done = self._done(None)
        if done and (missing := self.phasing.missing(self.target, done)):
            return self._wait_for_cables(missing)
        # The switches look alike before and after the nodes change, so the nodes are seen to again.
        again = done and self.phasing.phase(done).is_of_nodes
        if done == len(self.phasing.phases) and not again:
            return self._switches(done, None)
        first = done if again else done + 1
        for phase in self.phasing.phases[first - 1 :]:
            status = self._nodes(phase) if phase.is_of_nodes else self._switches(phase.number, None)
            if status or self.waiting:
                return status
        return 0

    def one(self, number: int, reviewed: Path | None) -> int:
        """Carry out one phase, which the ones before must allow."""
        phase = self.phasing.phase(number)
        if number > 1:
            self._done(number)
            if missing := self.phasing.missing(self.target, number - 1):
                raise RefusedError([_not_there(missing, number, self.phasing.base)])
            self._refuse_old_nodes(number)
        return self._nodes(phase) if phase.is_of_nodes else self._switches(number, reviewed)

    def _done(self, asked: int | None) -> int:
        from railweave.plan.standing import standing_faults

        standing = self.phasing.standing(self.target)
        if faults := standing_faults(standing, self.phasing.base, asked):
            raise RefusedError(faults)
        return standing.done

    def _switches(self, number: int, reviewed: Path | None) -> int:
        phase = self.phasing.phase(number)
        self._say(phase)
        agreement = self.agreement
        # What was asked for by its phases is agreed to: the step's own cables, and the marking and the packet size that
        # no node sends any more.
        if phase.cables or phase.lowers_mtu or (number > 1 and self.phasing.phase(number - 1).is_of_nodes):
            agreement = replace(agreement, single_step=True)
        fabric = self.phasing.reached_for_deployment(self.target, number)
        result = deploy(self.phasing.project, self.target, agreement, reviewed=reviewed, reach=fabric)
        if self.quiet:
            self._note(phase, result)
        status = exit_status(result) if self.quiet else show_result(result, as_json=False)
        if not status and phase.cables:
            self._wait_for_cables(Missing(phase, phase.cables))
        return status

    def _note(self, phase: "Phase", result: "DeployResult | None") -> None:
        from railweave.report.deployment import deploy_json

        if result is not None:
            self.steps.append({**_named(phase), **deploy_json(result)})

    def _nodes(self, phase: "Phase") -> int:
        from railweave.cli.node_runs import reached_nodes, show_run
        from railweave.report.hosts import hosts_json

        self._say(phase)
        if not self._are_managed():
            return self._wait_for_nodes(phase)
        run = reached_nodes(self.phasing.project.intent, self.target, "").apply()
        if self.quiet:
            self.steps.append({**_named(phase), "nodes": hosts_json(run)})
        else:
            show_run(run, as_json=False)
        return 0 if run.ok else 1

    def _are_managed(self) -> bool:
        from railweave.cli.node_runs import left_alone

        return not left_alone(self.phasing.project.intent, self.target)

    def _refuse_old_nodes(self, number: int) -> None:
        """Raise RefusedError where nodes that we manage have not changed though the next phase counts on it."""
        from railweave.cli.node_runs import reached_nodes
        from railweave.hosts.outcome import HostState

        before = self.phasing.phase(number - 1)
        if not before.is_of_nodes or not self._are_managed():
            return
        run = reached_nodes(self.phasing.project.intent, self.target, "").plan()
        old = run.named(HostState.CHANGED)
        if old or not run.ok:
            raise RefusedError([_old_nodes(tuple(old), number, before.number, self.phasing.base)])

    def _wait_for_cables(self, missing: Missing) -> int:
        from railweave.cli.show import print_view
        from railweave.report.phases import cable_json, cables_view, verify_command

        phase, base = missing.phase, self.phasing.base
        cables = [cable_json(cable) for cable in missing.cables]
        self.waiting = {**_named(phase), "for": "cables", "cables": cables, "then": verify_command(phase, base)}
        if not self.quiet:
            print_view(cables_view(phase, base, missing.cables))
        return 0

    def _wait_for_nodes(self, phase: "Phase") -> int:
        from railweave.cli.show import print_view
        from railweave.report.phases import deploy_command, nodes_text

        following = next(iter(self.phasing.phases[phase.number :]), None)
        base = self.phasing.base
        then = deploy_command(following, base) if following else ""
        self.waiting = {**_named(phase), "for": "nodes", "cables": [], "then": then}
        if not self.quiet:
            print_view(nodes_text(phase, base, following))
        return 0

    def _say(self, phase: "Phase") -> None:
        from railweave.cli.show import print_note

        print_note(f"phase {phase.number} of {len(self.phasing.phases)}: {phase.title}")


def _named(phase: "Phase") -> dict[str, Any]:
    return {"number": phase.number, "title": phase.title, "kind": phase.kind.value}


def _not_there(missing: Missing, number: int, base: str) -> Diagnostic:
    """Return that a phase cannot begin, because cables of an earlier one are not in place."""
    shown = "; ".join(f"{cable.stays} to {cable.after}" for cable in missing.cables[:_SHOWN])
    more = len(missing.cables) - _SHOWN
    return error(
        "RW518",
        f"phase {number} cannot begin: cables of phase {missing.phase.number} are not seen at work where they belong:"
        f" {shown}{f'; and {more} more' if more > 0 else ''}",
        devices=tuple(dict.fromkeys(cable.stays.device for cable in missing.cables)),
        fix=f"move them; `railweave verify --from {base} --phase {missing.phase.number}` tells when all are right",
    )


def _old_nodes(names: tuple[str, ...], number: int, before: int, base: str) -> Diagnostic:
    """Return that a phase cannot begin, because nodes have not changed or could not be read."""
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    found = f"{listed} would still change" if names else "not all nodes could be read"
    return error(
        "RW518",
        f"phase {number} cannot begin: {found}",
        devices=names,
        fix=f"`railweave deploy --from {base} --phase {before}` changes the nodes",
    )
