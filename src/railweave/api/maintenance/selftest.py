"""The self-test of one unused switch: railweave's own claims against what that switch shows."""

import json
from dataclasses import dataclass
from pathlib import Path

from nornir_railweave.tasks.selftest import SelftestOrder
from nornir_railweave.tasks.selftest import selftest as test_switch
from railweave.api.journal.audit import audited_action
from railweave.api.project import STATE, Project
from railweave.api.targets.fabric import live_fabric
from railweave.codec import CodecError, encode, read_text
from railweave.errors import RailweaveError, UsageError
from railweave.fabric.names import known_switches
from railweave.files import write_private
from railweave.plan.selftest import SelftestOptions, SelftestReport
from railweave.report.selftest import selftest_json


def selftest(project: Project, target: str, device: str, options: SelftestOptions) -> SelftestReport | None:
    """Test ``device`` and return what was found; None if the operator declined.

    A switch that is in use is refused. The switch is left as it was found. Raises UsageError for an unknown name, or if
    ``options`` do not say that the switch is unused (``spare``); RefusedError as every command that reaches devices.
    """
    live = live_fabric(project, target)
    known_switches(live.designed.fabric, [device])
    # Before any device is read: the word of a person that no traffic depends on the switch.
    if not options.spare:
        raise UsageError(f"a self-test changes {device}: say --spare if it is unused")
    if not options.reads_only and not project.operator.approves_selftest(device):
        return None
    live.require_secrets()
    # A test that was interrupted has left its commit on the switch; the next one begins with it.
    kept_commit = _KeptCommit(STATE / "selftest" / f"{live.designed.fabric.name}-{target}-{device}.json")
    order = SelftestOrder(
        rows=live.intended(device).rows,
        options=options,
        revert_in_s=live.target.rollout.revert_in_s,
        leftover=kept_commit.read(),
        note=kept_commit.note,
    )
    command = f"selftest {device}"
    designed = live.designed
    with audited_action(command, designed.fabric.name, target, designed.intent.sha256) as record, live.progress():
        report = test_switch(live.nornir, device, order, events=live.shown)
        outcome = {"outcome": "changed"}
        if report.is_back:
            outcome["outcome"] = "tested"
        if report.error:
            outcome["error"] = report.error
        record({device: outcome})
        return report


@dataclass(frozen=True, slots=True)
class _CommitToRollBack:
    """The content of the file of a `_KeptCommit`."""

    commit: str


@dataclass(frozen=True, slots=True)
class _KeptCommit:
    """The commit that a self-test made on a switch and has not rolled back, in a file of the project's state."""

    file: Path

    def read(self) -> str:
        """Return the commit, empty for none."""
        try:
            content: _CommitToRollBack = read_text(_CommitToRollBack, self.file.read_bytes())
        except FileNotFoundError:
            return ""
        except (OSError, CodecError) as fault:
            raise RailweaveError(f"{self.file} cannot be read: {fault}") from fault
        return content.commit

    def note(self, commit_id: str) -> None:
        """Keep the commit; an empty one removes the file."""
        if not commit_id:
            self.file.unlink(missing_ok=True)
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_private(self.file, encode(_CommitToRollBack(commit_id)))


def write_bundle(report: SelftestReport, out: Path) -> Path:
    """Write what can be sent in: the report without names, addresses and secrets; return its path.

    Raises RailweaveError if it cannot be written.
    """
    # The switch's own words must not name another folder.
    hwsku = report.platform.get("hwsku", "switch").replace("/", "-")
    release = report.image.get("release") or report.image.get("branch") or "unknown"
    file = out / f"selftest-{hwsku}-{release}.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_private(file, (json.dumps(selftest_json(report), indent=2) + "\n").encode())
    except OSError as fault:
        raise RailweaveError(f"cannot write the bundle into {out}: {fault.strerror}") from fault
    return file
