"""What a shell completes: switches, GPU nodes, intents, targets and rollouts of the project, codes, models, faults.

Whatever cannot be read completes to nothing: an error would be printed into the line that is being typed.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric

# A shell prints all of them below the line that is typed.
_NEWEST = 50


def intents() -> Sequence[str]:
    """Return the intents of the project."""
    return sorted(map(str, Path("intent").glob("*.y*ml")))


def targets() -> Sequence[str]:
    """Return the targets of the project."""
    # `production.example.yml` of a starter project is to be copied and filled in first.
    return sorted(path.stem for path in Path("inventory").glob("*.yml") if not path.stem.endswith(".example"))


def rollouts() -> Sequence[str]:
    """Return the names of the newest rollouts whose journals are here, newest first."""
    from railweave.api.project import JOURNALS

    # Names begin with the time. The modules that read journals take a second to import, so they are not asked.
    folder = Path(os.environ.get("RAILWEAVE_JOURNALS") or JOURNALS)
    return sorted((path.stem for path in folder.glob("*.jsonl")), reverse=True)[:_NEWEST]


def codes() -> Iterable[str]:
    """Return the codes of diagnostics, alerts and findings of `health`."""
    from railweave import api

    return (*api.codes(), *api.watch_rules())


def models() -> Iterable[str]:
    """Return the switch models and NICs of the catalog and of the project."""
    from railweave.catalog.load import load_catalog, use_own_models
    from railweave.errors import RailweaveError

    try:
        use_own_models()
        return (*load_catalog().switch_ids(), *load_catalog().nic_ids())
    except RailweaveError:
        return ()


def designs() -> Iterable[str]:
    """Return the reference designs."""
    from railweave import api

    return api.starter_designs()


def faults() -> Sequence[str]:
    """Return the faults that the simulator injects, and the word that ends them."""
    from sonic_sim.faults import FaultKind

    return [*FaultKind, "clear"]


def switches(ctx: typer.Context) -> Sequence[str]:
    """Return the switches of the intent that the line names, or of the only one."""
    fabric = _fabric(ctx)
    if fabric is None:
        return ()
    return [switch.name for switch in fabric.switches]


def nodes(ctx: typer.Context) -> Sequence[str]:
    """Return the GPU nodes of the intent that the line names, or of the only one."""
    fabric = _fabric(ctx)
    if fabric is None:
        return ()
    return [host.name for host in fabric.hosts]


def devices(ctx: typer.Context) -> Sequence[str]:
    """Return the switches and GPU nodes of the intent that the line names, or of the only one."""
    return [*switches(ctx), *nodes(ctx)]


def parts(ctx: typer.Context) -> Sequence[str]:
    """Return what can be drawn: the fabric, its pods and stripes, its switches and GPU nodes."""
    from railweave.drawing.views import FABRIC, part_keys

    fabric = _fabric(ctx)
    if fabric is None:
        return ()
    return [FABRIC, *part_keys(fabric), *fabric.ports_of]


def export_formats() -> Sequence[str]:
    """Return the formats of ``export``."""
    from railweave.export.registry import FORMATS

    return [*FORMATS, "all"]


def switches_listed(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Return the list of names with commas that is being typed, with each switch and tier as its last name."""
    fabric = _fabric(ctx)
    if fabric is None:
        return ()
    before, comma, _ = incomplete.rpartition(",")
    tiers = [tier.name for tier in fabric.tiers]
    return [f"{before}{comma}{name}" for name in (*tiers, *switches(ctx))]


def nodes_listed(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Return the list of names with commas that is being typed, with each GPU node as its last name."""
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in nodes(ctx)]


def _fabric(ctx: typer.Context) -> "Fabric | None":
    """Return the fabric of the intent that the line names, or of the only one; None if it cannot be designed."""
    from railweave.api.project import open_project
    from railweave.catalog.load import load_catalog
    from railweave.design.build import design
    from railweave.errors import RailweaveError
    from railweave.intent.load import load_intent

    try:
        intent = ctx.params.get("option") or ctx.params.get("intent")
        return design(load_intent(open_project(intent).intent), load_catalog()).fabric
    except RailweaveError:
        return None


def switches_and_codes(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Return what `explain` explains: a code, which begins with a capital, the rows of a switch, or acceptance."""
    if incomplete[:1].isupper():
        return [*codes()]
    if incomplete and "acceptance".startswith(incomplete):
        return ["acceptance", *switches(ctx)]
    return switches(ctx)
