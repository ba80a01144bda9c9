"""The state of a fabric for a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json
from railweave.plan.model import Generation
from railweave.plan.rollout import Rollout
from railweave.plan.status import FabricStatus, LastAcceptance, SwitchStatus, is_drained_whole
from railweave.report.layout import table
from railweave.report.reasons import reason_lines
from railweave.sonic.frr.maintenance import Maintenance
from railweave.wording import compact, counted, first_few


def status_json(status: FabricStatus) -> dict[str, Any]:
    """Return the document of ``status --json``; ``accepted`` is null if no verdict is stored."""
    document = {
        "fabric": status.fabric,
        "target": status.target,
        "commit": status.commit or None,
        "running": [_running_json(generation, names) for generation, names in status.generations.items()],
        "rollouts": [{"id": rollout.name, "state": rollout.state} for rollout in status.rollouts],
        "armed": [{"device": switch.device, "deadline_s": switch.commit.remaining_s} for switch in status.armed],
        "drained": {switch.device: list(switch.drained) for switch in status.drained},
        "maintenance": {switch.device: switch.maintenance.value for switch in status.in_maintenance},
        "unread": {switch.device: switch.error for switch in status.unread},
        "accepted": _accepted_json(status),
        "next": list(status.next_steps),
    }
    if status.limited is not None:
        document["behind"] = list(status.limited.behind)
    return document


def _accepted_json(status: FabricStatus) -> dict[str, Any] | None:
    """Return the last verdict, and the switches on which something else runs since; None without a verdict."""
    if status.accepted is None:
        return None
    document: dict[str, Any] = as_json(status.accepted)
    # What differs of it is in `deployed_since`.
    del document["running"]
    return {**document, "commit": status.accepted.commit or None, "deployed_since": list(status.deployed_since)}


def _running_json(generation: Generation, names: Sequence[str]) -> dict[str, Any]:
    """Return a generation of the intent with the switches that run it."""
    return {
        "commit": generation.revision or None,
        "digest": generation.digest or None,
        "dirty": generation.dirty,
        "devices": list(names),
    }


def status_view(status: FabricStatus) -> RenderableType:
    """Return the state of a fabric: what it runs, what is open, what is not in service, and the next command."""
    rows: list[tuple[str | Text, str]] = []
    rows += [("running", _running(generation, names)) for generation, names in status.generations.items()]
    rows += [("rollout", _rollout(rollout)) for rollout in status.rollouts]
    rows += _left_behind(status)
    rows += [(Text("unconfirmed", style="yellow"), _armed(switch)) for switch in status.armed]
    rows += [(Text("drained", style="yellow"), _drained(switch)) for switch in status.drained]
    for switch in status.switches:
        rows += _out_of_order(switch)
    rows += _unread(status.unread)
    rows += _accepted(status)
    read = f"{counted(len(status.read), 'switch')} read"
    if status.unread:
        read += f", {len(status.unread)} not read"
    heading = Text(f"{status.fabric} on {status.target}: {read}", style="bold")
    steps = [Text(f"next: {step}") for step in status.next_steps]
    return Group(heading, table("state", "what", rows=rows), Text(), *steps)


def _unread(switches: Sequence[SwitchStatus]) -> list[tuple[Text, str]]:
    """Return a row for each reason why switches were not read, with their names."""
    reasons = {switch.device: switch.error for switch in switches}
    return [(Text("unread", style="bold red"), line) for line in reason_lines(reasons)]


def _left_behind(status: FabricStatus) -> Iterator[tuple[Text, str]]:
    """Yield the row of the switches that the limit of the last rollout left out."""
    if status.limited is not None:
        behind = f"{compact(status.limited.behind)}: outside of the limit of rollout {status.limited.name}"
        yield Text("left behind", style="yellow"), behind


def _accepted(status: FabricStatus) -> Iterator[tuple[Text, str]]:
    """Yield the row of the last verdict on the fabric, with what has changed since; nothing without a verdict."""
    accepted = status.accepted
    if accepted is None:
        return
    text = acceptance_text(accepted)
    if status.deployed_since:
        text += f"; something else runs since on {compact(status.deployed_since)}"
    style = "green"
    if accepted.verdict != "passed" or accepted.outdated or status.deployed_since:
        style = "yellow"
    yield Text("acceptance", style=style), text


def acceptance_text(accepted: LastAcceptance) -> str:
    """Return when a fabric was judged, with what result, and whether its intent has changed since."""
    text = f"{accepted.verdict} at level {accepted.level}, judged {accepted.at}"
    if accepted.commit:
        text += f" at commit {accepted.commit[:12]}"
    if accepted.outdated:
        text += "; the intent has changed since"
    return text


def _running(generation: Generation, names: Sequence[str]) -> str:
    state = "no deployment recorded"
    if generation.digest or generation.revision:
        state = generation.shown
    return f"{state}: {compact(names)} ({len(names)})"


def _out_of_order(switch: SwitchStatus) -> Iterator[tuple[Text, str]]:
    """Yield a row if a switch is in maintenance, and one if it has to be recovered."""
    if switch.maintenance is not Maintenance.NONE:
        yield Text("maintenance", style="yellow"), f"{switch.device}: {switch.maintenance.value}"
    fault = switch.commit.damage or switch.commit.broken
    if fault:
        yield Text("repair", style="bold red"), f"{switch.device}: {fault}"


def _rollout(rollout: Rollout) -> str:
    text = f"{rollout.name}: {rollout.state}"
    if rollout.by:
        text += f", started by {rollout.by}"
    return text


def _armed(switch: SwitchStatus) -> str:
    text = f"{switch.device}: {switch.waits_for}"
    if switch.commit.overdue:
        text += "; nothing on the switch reverts it"
    return text


def _drained(switch: SwitchStatus) -> str:
    if is_drained_whole(switch):
        return f"{switch.device}: whole switch"
    return f"{switch.device}: towards {first_few(switch.drained)}"
