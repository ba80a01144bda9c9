"""What a shell completes: names of switches, intents, targets, rollouts and codes of the project in the folder.

A name that cannot be found is completed by nothing: an error would be printed into the line that is typed.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from railweave.api.project import JOURNALS

_NEWEST = 50


def intents() -> Sequence[str]:
    """Return the intents of the project."""
    return sorted(map(str, Path("intent").glob("*.y*ml")))


def targets() -> Sequence[str]:
    """Return the targets of the project."""
    return sorted(path.stem for path in Path("inventory").glob("*.yml") if not path.stem.endswith(".example"))


def rollouts() -> Sequence[str]:
    """Return the names of the newest rollouts whose journals are here, newest first."""
    # Names begin with the time. The modules that read journals take a second to import, so they are not asked.
    folder = Path(os.environ.get("RAILWEAVE_JOURNALS") or JOURNALS)
    return sorted((path.stem for path in folder.glob("*.jsonl")), reverse=True)[:_NEWEST]


def codes() -> Iterable[str]:
    """Return the codes of diagnostics."""
    from railweave import api

    return api.codes()


def models() -> Iterable[str]:
    """Return the switch models and NICs of the catalog and of the project."""
    from railweave.catalog.load import load_catalog, use_own_models
    from railweave.errors import RailweaveError

    try:
        use_own_models()
        return (*load_catalog().switch_ids(), *load_catalog().nic_ids())
    except RailweaveError:
        return ()


def switches(ctx: typer.Context) -> Sequence[str]:
    """Return the switches of the intent that the line names, or of the only one."""
    from railweave.api.project import open_project
    from railweave.catalog.load import load_catalog
    from railweave.design.build import design
    from railweave.errors import RailweaveError
    from railweave.intent.load import load_intent

    try:
        named = ctx.params.get("option") or ctx.params.get("intent")
        fabric = design(load_intent(open_project(named).intent), load_catalog()).fabric
    except RailweaveError:
        return ()
    return [switch.name for switch in fabric.switches] if fabric else ()


def switches_and_codes(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Return what `explain` explains: a code, which begins with a capital, or the rows of a switch."""
    return [*codes()] if incomplete[:1].isupper() else switches(ctx)
