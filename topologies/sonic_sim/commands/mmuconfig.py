"""``mmuconfig``: buffer pools and the thresholds of profiles (sonic-utilities, scripts/mmuconfig)."""

from typing import Any

import click

from sonic_sim.commands.click7 import PLAIN_HELP, Choice, Command, Range, Run, flag, option, run, with_run
from sonic_sim.commands.ecnconfig import listing
from sonic_sim.commands.tables import plain_table
from sonic_sim.shell.programs import Call, Result, program

# The threshold of a dynamic profile is 2^alpha times the free buffer.
ALPHA = Range(-8, 8)
_PROFILES = "BUFFER_PROFILE"


def _run(
    run: Run, show_config: bool, profile: str | None, alpha: int | None, staticth: int | None, trim: str | None,
    verbose: bool, **others: Any,
) -> None:  # fmt: skip
    if show_config:
        _list(run, verbose=verbose)
    elif not profile:
        run.stop(click.get_current_context().get_help())
    # One setting a run. The program takes 0 for an option that is not given.
    elif alpha:
        _set(run, profile, "dynamic_th", str(alpha), verbose=verbose)
    elif staticth:
        _set(run, profile, "static_th", str(staticth), verbose=verbose)
    elif trim:
        action = "trim" if trim == "on" else "drop"
        _set(run, profile, "packet_discard_action", action, verbose=verbose)


def _list(run: Run, *, verbose: bool) -> None:
    """Print the pools and profiles, with ``verbose`` also their numbers."""
    for row in run.db.table("DEFAULT_LOSSLESS_BUFFER_PARAMETER").values():
        fields = [[field, row[field]] for field in sorted(row)]
        run.say(f"Lossless traffic pattern:\n{plain_table(fields)}\n")
    _list_table(run, "BUFFER_POOL", "Pool")
    if verbose and run.db.table("BUFFER_POOL"):
        run.say(f"Total pools: {len(run.db.table('BUFFER_POOL'))}\n\n")
    _list_table(run, _PROFILES, "Profile")
    if verbose and run.db.table(_PROFILES):
        run.say(f"Total profiles: {len(run.db.table(_PROFILES))}")


def _list_table(run: Run, table: str, title: str) -> None:
    run.say(listing(run.db, table, title) or f"No buffer {title.lower()} information available\n", end="")


def _set(run: Run, profile: str, field: str, value: str, *, verbose: bool) -> None:
    """Set a field of a profile. A threshold is refused for a profile that has none of its kind."""
    if run.call.user != "root":
        run.leave("Root privileges required for this operation")
    row = run.db.table(_PROFILES).get(profile)
    names = {"dynamic_th": "dynamic thresholding", "static_th": "static threshold"}
    if row is not None and field in names and field not in row:
        run.leave(f"{profile} not using {names[field]}")
    if verbose:
        run.say(f"Setting {profile} {field} value to {value}")
    run.db.set_fields(f"{_PROFILES}|{profile}", {field: value})


_mmuconfig = Command(
    "mmuconfig", callback=with_run(_run), context_settings=PLAIN_HELP, help="Show and change: mmu configuration",
    params=[
        flag("-l", "--list", "show_config", help="show mmu configuration"),
        option("-p", "--profile", help="specify buffer profile name"),
        option("-a", "--alpha", type=ALPHA, help="set n for dyanmic threshold alpha 2^(n)"),
        option("-s", "--staticth", type=Range(0), help="set static threshold"),
        option("-t", "--trim", type=Choice(["on", "off"]), help="Configures packet trimming eligibility"),
        option("-n", "--namespace", type=Choice([""]), help="Namespace name or skip for all"),
        flag("-vv", "--verbose", help="verbose output"),
    ],
)  # fmt: skip


@program("mmuconfig")
def run_mmuconfig(call: Call) -> Result:
    """Run ``mmuconfig``."""
    return run(_mmuconfig, call)
