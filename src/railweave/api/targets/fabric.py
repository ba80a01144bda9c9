"""A designed fabric together with the target that reaches its devices."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nornir.core import Nornir

from nornir_railweave.rollout.progress import FabricProgress
from nornir_railweave.target.access import check_access
from nornir_railweave.target.connect import build
from nornir_railweave.target.inventory import build_inventory
from nornir_railweave.target.model import Target
from nornir_railweave.target.runner import end_workers
from nornir_railweave.target.secret_store import SecretStore
from nornir_railweave.target.sessions import close_sessions
from nornir_railweave.target.target_file import load_target
from railweave.api.design.intent import Designed, load_configurable, project_templates
from railweave.api.project import Project, find_target
from railweave.api.targets.sites import spread
from railweave.checks.management import management_findings
from railweave.diagnostics import Diagnostic, Severity, Where, has_errors
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope
from railweave.plan.rollout import DEPLOYMENT, RolloutMetadata
from railweave.secrets import references
from railweave.sonic.render.configure import Configurator, IntendedConfigs
from railweave.sonic.render.frr_text import own_frr_template
from railweave.sonic.rows import DeviceConfig
from railweave.wording import command_line, counted

if TYPE_CHECKING:
    from nornir_railweave.rollout.journal import Journal
    from nornir_railweave.target.policy import Policy
    from railweave.plan.lineage import History
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult, VerifyResult

_TEMPLATES = Path("templates")

TIMER_MARGIN_S = 15
"""How long a switch may take to revert after its own timer expired."""

_CONFIGS_KEPT = 64
"""More than the devices of a wave."""


@dataclass(frozen=True, slots=True)
class LiveFabric:
    """Everything that a command needs to read or change the devices of a fabric.

    ``intended`` returns the intended configuration of a device, and keeps those that were asked for last. ``scope``
    is what a verification expects to see of the fabric. ``base`` and ``phase`` name the change in phases of which the
    fabric is a phase; empty and 0 for the fabric of an intent. ``secrets`` are the values that the intent refers to;
    ``missing_secrets`` says which cannot be resolved here: a plan is made without them, a deployment is refused.
    """

    designed: Designed
    target: Target
    nornir: Nornir
    shown: FabricProgress
    intended: Callable[[str], DeviceConfig]
    scope: VerificationScope = WHOLE_FABRIC
    base: str = ""
    phase: int = 0
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    missing_secrets: tuple[Diagnostic, ...] = ()

    def history(self, plan: "Plan") -> "History":
        """Return the project's state that ``plan`` deploys, and how the states that its devices run relate to it."""
        from railweave.api.journal.history import project_history

        running = {device.reading.generation.content for device in plan.devices.values()}
        intent = self.designed.intent
        return project_history(Path(intent.file), intent.sha256, self.designed.fabric.name, running)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Close the sessions of all devices at the end, and end the workers that were started meanwhile.

        Until then one login serves all work on a device. Raises RefusedError if the target's login cannot be tried at
        all.
        """
        diagnostics = check_access(self.target, self.nornir, os.environ)
        if diagnostics:
            raise RefusedError(diagnostics)
        try:
            yield
        finally:
            close_sessions(self.nornir)
            end_workers(self.nornir)

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show progress to the operator during work on devices, and close their sessions at the end."""
        with self.connected(), self.shown:
            yield

    def plan(
        self,
        *,
        remove_conflicting: bool = False,
        skip_unreachable: bool = False,
        pending_wait_s: float = 0,
        limit: Collection[str] = (),
        only: Collection[str] = (),
    ) -> "Plan":
        """Read the devices and return the plan.

        ``only`` names the devices to read, ``limit`` the switches that may change; both are empty for all. The other
        parameters are those of `nornir_railweave.rollout.planning.plan`. Raises RefusedError if the limit separates
        switches that must change together or in order.
        """
        # Imported late, as what deploys and verifies: each command needs one of the three.
        from nornir_railweave.rollout.planning import plan
        from railweave.plan.limit import limited

        # The others are read as well: what they need and what they carry decides what may change without them.
        plan_of_all = plan(
            self.nornir,
            self.designed.fabric,
            self.intended,
            target=self.target.name,
            intent_sha256=self.designed.intent.sha256,
            remove_conflicting=remove_conflicting,
            unresolved=bool(self.missing_secrets),
            skip_unreachable=skip_unreachable,
            pending_wait_s=pending_wait_s,
            only=only,
            rollout_policy=self.target.rollout.policy,
            quiet_packets_per_s=self.target.rollout.quiet_packets_per_s,
            events=self.shown,
        )
        if not limit:
            return plan_of_all
        return limited(self.designed.fabric, plan_of_all, frozenset(limit))

    def deploy(
        self,
        plan: "Plan",
        policy: "Policy",
        *,
        journal: "Journal | None" = None,
        metadata: RolloutMetadata = DEPLOYMENT,
    ) -> "DeployResult":
        """Deploy ``plan`` and return the result; with a ``journal`` its rollout is resumed, else a new one begins."""
        from nornir_railweave.rollout.deploying import deploy

        return deploy(
            self.nornir,
            self.designed.fabric,
            plan,
            self.intended,
            policy=policy,
            events=self.shown,
            journal=journal,
            metadata=metadata,
            scope=self.scope,
            history=self.history(plan),
        )

    def earlier_default(self, plan: "Plan", instead: str = "") -> tuple[Diagnostic, ...]:
        """Return diagnostics if ``plan`` would move cables only because of a default or of an automatic value.

        The default was another one in an earlier version, or growth changes the automatic value. ``instead`` says how
        to move the cables all the same; by default it is how to deploy the plan.
        """
        from railweave.api.design.earlier import earlier_defaults
        from railweave.api.targets.automatic import kept_on_switches
        from railweave.design.keeping import kept_diagnostics
        from railweave.plan.earlier_default import TO_DEPLOY, follows_earlier_default

        # A phase is between two intents, and its cables are those of neither.
        if self.base:
            return ()
        intent = self.designed.intent
        fabric = self.designed.fabric
        where = intent.where("topology")
        return (
            *kept_diagnostics(kept_on_switches(plan, self.designed.written, fabric)),
            *follows_earlier_default(plan, fabric, earlier_defaults(intent), where, instead or TO_DEPLOY),
        )

    def require_secrets(self) -> None:
        """Raise RefusedError, before any device is read, with every secret that cannot be resolved."""
        if self.missing_secrets:
            raise RefusedError(self.missing_secrets)

    def verify(
        self, *, wait_s: float = 0, devices: Collection[str] | None = None, settled: Collection[str] = ()
    ) -> "VerifyResult":
        """Read ``devices``, by default all, and compare them with the fabric.

        Links to switches that are not in ``settled`` are not judged; if that is empty, all links are.
        """
        from nornir_railweave.tasks.verifying import verify
        from railweave.plan.verification import EVERYONE

        return verify(
            self.nornir,
            self.designed.fabric,
            devices,
            settled=settled or EVERYONE,
            timeout_s=wait_s,
            events=self.shown,
            scope=self.scope,
        )


def pending_wait_s(target: Target) -> float:
    """Return how long a commit that nobody confirms may wait on a switch of ``target``, in seconds."""
    return target.rollout.revert_in_s + TIMER_MARGIN_S


def live_fabric(project: Project, target: str, *, partial: bool = False) -> LiveFabric:
    """Return the fabric of the project's intent on ``target``; raises RefusedError, UsageError as `connect` does."""
    designed = load_configurable(project.intent)
    # Their number alone: all of them would hide what the command itself reports.
    count = sum(diagnostic.severity is Severity.WARNING for diagnostic in designed.diagnostics)
    if count:
        intent = str(project.intent)
        check = command_line("check", intent=intent)
        project.operator.tell(f"{intent}: {counted(count, 'warning')}; run `{check}` for details")
    return connect(project, designed, target, partial=partial, whole=True)


def connect(
    project: Project,
    designed: Designed,
    target: str,
    scope: VerificationScope = WHOLE_FABRIC,
    *,
    partial: bool = False,
    whole: bool = False,
) -> LiveFabric:
    """Return ``designed`` on ``target``; no session is opened yet. With ``partial`` switches may lack an address.

    ``whole``: it is the fabric of the project's intent, which workers read for themselves. Any other, such as that of a
    phase, is worked on from this process.

    Raises UsageError for an unknown target, RefusedError if its file has errors or it reaches switches through the
    fabric.
    """
    file = find_target(target)
    loaded = load_target(file)
    shown = project.operator.progress()
    nornir = _built(designed, loaded, shown, partial=partial)
    # A change of the fabric could cut off a switch that is reached through the fabric itself.
    addresses = {name: host.hostname or "" for name, host in nornir.inventory.hosts.items()}
    in_band = tuple(management_findings(designed.fabric, addresses, Where(str(file))))
    if has_errors(in_band):
        raise RefusedError(in_band)
    project.operator.warn(in_band)
    # Workers read the project's intent themselves; they have no phase of a change, and no removed switches.
    if whole:
        nornir = spread(project, designed, loaded, nornir)
    elif loaded.sites:
        project.operator.tell(
            "a phase, or a fabric whose switches leave, is worked on from this machine, not from the target's sites"
        )
    return on_nornir(designed, loaded, nornir, shown, scope)


def _built(designed: Designed, target: Target, shown: FabricProgress, *, partial: bool) -> Nornir:
    """Return the Nornir of a fabric. Raises as `build` does.

    If the target has the switches of an earlier default instead, the diagnostics say how to keep that default.
    """
    try:
        return build(designed.fabric, target, processors=[shown], partial=partial)
    except RefusedError as refused:
        from railweave.api.design.earlier import name_earlier_switches

        diagnostics = name_earlier_switches(
            refused.diagnostics, designed.intent, designed.fabric, lambda fabric: _has_addresses(fabric, target)
        )
        raise RefusedError(diagnostics) from None


def _has_addresses(fabric: Fabric, target: Target) -> bool:
    try:
        build_inventory(fabric, target)
    except RefusedError:
        return False
    return True


def on_nornir(
    designed: Designed, target: Target, nornir: Nornir, shown: FabricProgress, scope: VerificationScope = WHOLE_FABRIC
) -> LiveFabric:
    """Return ``designed`` as reached through ``nornir``, with the secrets and the skipped checks of ``target``."""
    store = SecretStore(target)
    missing = store.missing(secret_places(designed.intent))
    templates = project_templates()
    intended = IntendedConfigs(Configurator(designed.fabric, templates, store.values), _CONFIGS_KEPT)
    if own_frr_template(templates) is not None:
        scope = replace(scope, own_frr=True)
    if target.skip_checks:
        scope = replace(scope, skipped=target.skip_checks)
    return LiveFabric(
        designed=designed,
        target=target,
        nornir=nornir,
        shown=shown,
        intended=intended,
        scope=scope,
        secrets=store.values,
        missing_secrets=missing,
    )


def secret_places(intent: Intent) -> dict[str, Where]:
    """Return the first place of each secret in the intent's overrides, and in the templates of the project in the
    working directory."""
    places: dict[str, Where] = {}
    for name, where in (*_override_secrets(intent), *_template_secrets()):
        places.setdefault(name, where)
    return places


def _override_secrets(intent: Intent) -> Iterator[tuple[str, Where]]:
    """Yield the name and the place of each reference to a secret in the overrides."""
    for scope, tables in intent.policies.overrides.rows.items():
        for table, rows in tables.items():
            for key, fields in rows.items():
                row_path = ("overrides", scope, table, key)
                for name in references(key):
                    yield name, intent.where(path_text(row_path))
                for field_name, value in fields.items():
                    # Only texts refer to secrets.
                    if not isinstance(value, str):
                        continue
                    for name in references(value):
                        yield name, intent.where(path_text((*row_path, field_name)))


def _template_secrets() -> Iterator[tuple[str, Where]]:
    """Yield the name and the place of each reference to a secret in the project's templates."""
    paths = sorted(path for path in _TEMPLATES.rglob("*") if path.is_file() and not path.is_symlink())
    for path in paths:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            for name in references(line):
                yield name, Where(str(path), number, 1 + line.index("{secret:"))
