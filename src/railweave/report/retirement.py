"""The proof that switches can be removed, with the next step."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import members
from railweave.plan.lifecycle import Leaving, Proof
from railweave.report.layout import paragraphs, table, verdict
from railweave.wording import command_line, compact, counted


def retirement_json(leaving: Leaving, proofs: tuple[Proof, ...]) -> dict[str, Any]:
    """Return the proofs as JSON."""
    return {
        "ok": is_proven(leaving, proofs),
        "devices": [switch.name for switch in leaving.switches],
        "nodes": leaving.hosts,
        "cables_to_move": [str(cable) for cable in leaving.moved],
        "proofs": list(map(proof_json, proofs)),
    }


def proof_json(proof: Proof) -> dict[str, Any]:
    """Return one proof."""
    return members(proof, "device", "what", "expected", "actual", "ok")


def is_proven(leaving: Leaving, proofs: tuple[Proof, ...]) -> bool:
    """Whether the switches can be removed now: nothing uses them, and no cable has to move first."""
    return not leaving.moved and all(proof.ok for proof in proofs)


def retirement_view(leaving: Leaving, proofs: tuple[Proof, ...], target: str) -> RenderableType:
    """Return the proofs as a table, and the next step."""
    if not leaving.switches:
        return Text("no switch is removed: the newer intent has every device of the older one")
    heading = [Text(f"leaving: {compact([switch.name for switch in leaving.switches])}", style="bold")]
    if leaving.hosts:
        heading.append(Text(f"with {counted(len(leaving.hosts), 'GPU node')}: {compact(leaving.hosts)}"))
    rows = [_proof_row(proof) for proof in proofs]
    return paragraphs(
        heading, table("", "device", "what", "must be", "is", rows=rows), _next_step(leaving, proofs, target)
    )


def _proof_row(proof: Proof) -> tuple[str | Text, ...]:
    if proof.ok:
        return Text("✓", style="green"), proof.device, proof.what, proof.expected, proof.actual
    return Text("✗", style="bold red"), proof.device, proof.what, proof.expected, Text(proof.actual, style="red")


def _next_step(leaving: Leaving, proofs: tuple[Proof, ...], target: str) -> list[Text]:
    """Return whether the switches can be removed now, and the command that the operator runs next."""
    if leaving.moved:
        count = counted(len(leaving.moved), "cable")
        phases = command_line("phases", "BASE")
        return [verdict(False, f"{count} must move first: `{phases}` lists them, in safe steps")]
    if is_proven(leaving, proofs):
        deploy = command_line("deploy", target=target)
        return [
            verdict(True, "nothing uses the switches to be removed"),
            Text(f"next: `{deploy}`, then power it off and remove it from the inventory"),
        ]
    undrained = sorted({proof.device for proof in proofs if not proof.ok and proof.what == "out of traffic"})
    advice = "remove what uses it first, then run this again"
    # A switch with traffic is drained before anything else is removed.
    if undrained:
        advice = f"next: `{command_line('drain', *undrained, target=target)}`, then run this again"
    return [verdict(False, "not proven unused"), Text(advice)]
