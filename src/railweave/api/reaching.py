"""A designed fabric together with the target on which it is reached."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import Designed, Project, find_target, load_designed, project_templates
from railweave.diagnostics import Diagnostic, Severity, Where, has_errors
from railweave.errors import RefusedError

if TYPE_CHECKING:
    from nornir.core import Nornir

    from nornir_railweave.rollout.journal import Journal, Undertaking
    from nornir_railweave.rollout.progress import FabricProgress
    from nornir_railweave.target.model import Target
    from nornir_railweave.target.policy import Policy
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult, VerifyResult
    from railweave.plan.pending import Expecting
    from railweave.sonic.render.configure import Configurator
    from railweave.sonic.rows import DeviceConfig


@dataclass(frozen=True, slots=True)
class ReachedFabric:
    """Everything that a command needs to read or change the devices of a fabric.

    ``expecting`` tells what must be seen on a switch: None is everything that the fabric has. ``base`` and ``phase``
    tell of which change in phases the fabric is a phase; empty and 0 where it is an intent's own.
    """

    designed: Designed
    target: "Target"
    nornir: "Nornir"
    shown: "FabricProgress"
    configurator: "Configurator"
    expecting: "Expecting | None" = None
    base: str = ""
    phase: int = 0

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Close the sessions of all devices at the end; until then one login serves all that is done on a device."""
        from nornir_railweave.target.sessions import close_sessions

        try:
            yield
        finally:
            close_sessions(self.nornir)

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show progress to the operator while devices are at work, and close their sessions at the end."""
        with self.connected(), self.shown:
            yield

    def wanted(self, device: str) -> "DeviceConfig":
        """Return the intended configuration of a device."""
        return self.configurator.device(self.designed.fabric.switch_of[device])

    def plan(self, *, remove_conflicting: bool = False, pending_wait_s: float = 0) -> "Plan":
        """Read all devices and return the plan."""
        from nornir_railweave.rollout.planning import plan

        return plan(
            self.nornir,
            self.designed.fabric,
            self.wanted,
            target=self.target.name,
            intent_sha256=self.designed.intent.sha256,
            remove_conflicting=remove_conflicting,
            pending_wait_s=pending_wait_s,
            rollout_policy=self.target.rollout.policy,
            quiet_packets_per_s=self.target.rollout.quiet_packets_per_s,
            events=self.shown,
        )

    def deploy(
        self,
        plan: "Plan",
        policy: "Policy",
        *,
        journal: "Journal | None" = None,
        undertaking: "Undertaking | None" = None,
    ) -> "DeployResult":
        """Carry out ``plan``: as the rollout of ``journal``, which is carried on, else as a new one."""
        from nornir_railweave.rollout.deploying import deploy
        from nornir_railweave.rollout.journal import ORDINARY
        from railweave.plan.expectation import expect

        return deploy(
            self.nornir,
            self.designed.fabric,
            plan,
            self.wanted,
            policy=policy,
            events=self.shown,
            journal=journal,
            undertaking=undertaking or ORDINARY,
            expecting=self.expecting or expect,
        )

    def verify(self, *, wait_s: float = 0) -> "VerifyResult":
        """Read all devices and compare them with the fabric."""
        from nornir_railweave.tasks.verifying import verify
        from railweave.plan.expectation import expect

        return verify(
            self.nornir,
            self.designed.fabric,
            timeout_s=wait_s,
            events=self.shown,
            expecting=self.expecting or expect,
        )


def reached_fabric(project: Project, target: str) -> ReachedFabric:
    """Return the fabric of the project's intent as it is reached on ``target``; raises RefusedError, UsageError."""
    designed = load_designed(project.intent)
    count = sum(one.severity is Severity.WARNING for one in designed.diagnostics)
    if count:
        counted = "1 warning" if count == 1 else f"{count} warnings"
        project.operator.tell(f"{project.intent}: {counted}; `railweave check {project.intent}` tells")
    return reached(project, designed, target)


def _in_band(designed: Designed, addresses: "dict[str, str]", file: Path) -> tuple[Diagnostic, ...]:
    """Return what may lead the sessions over the fabric; raises RefusedError where it does."""
    from railweave.checks.management import management_findings

    found = tuple(management_findings(designed.fabric, addresses, Where(str(file))))
    if has_errors(found):
        raise RefusedError(found)
    return found


def reached(project: Project, designed: Designed, target: str, expecting: "Expecting | None" = None) -> ReachedFabric:
    """Return ``designed`` as it is reached on ``target``; raises RefusedError, UsageError."""
    from nornir_railweave.target.connect import build
    from nornir_railweave.target.target_file import load_target
    from railweave.sonic.render.configure import Configurator

    file = find_target(target)
    chosen = load_target(file)
    shown = project.operator.progress()
    nornir = build(designed.fabric, chosen, processors=[shown])
    addresses = {name: host.hostname or "" for name, host in nornir.inventory.hosts.items()}
    project.operator.warn(_in_band(designed, addresses, file))
    configurator = Configurator(designed.fabric, project_templates())
    return ReachedFabric(designed, chosen, nornir, shown, configurator, expecting)
