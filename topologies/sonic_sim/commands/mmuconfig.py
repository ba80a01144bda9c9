"""``mmuconfig``: buffer pools and the thresholds of profiles (sonic-utilities, scripts/mmuconfig)."""

from typing import Any

import click

from sonic_sim.commands.click7 import PLAIN_HELP, Choice, Command, Range, Run, flag, option, run, with_run
from sonic_sim.commands.ecnconfig import listing
from sonic_sim.commands.tables import plain_table
from sonic_sim.shell.programs import Call, Result, program

ALPHA = Range(-8, 8)
_PROFILES = "BUFFER_PROFILE"


def _run(
    one: Run, show_config: bool, profile: str | None, alpha: int | None, staticth: int | None, trim: str | None,
    verbose: bool, **others: Any,
) -> None:  # fmt: skip
    wanted = {
        "dynamic_th": alpha,
        "static_th": staticth,
        "packet_discard_action": {"on": "trim", "off": "drop"}.get(trim or ""),
    }
    field = next((name for name, value in wanted.items() if value), None)  # 0 counts as not given
    if show_config:
        _list(one, verbose)
    elif not profile:
        one.stop(click.get_current_context().get_help())
    elif field is not None:
        _set(one, profile, field, str(wanted[field]), verbose)


def _list(one: Run, verbose: bool) -> None:
    for row in one.db.table("DEFAULT_LOSSLESS_BUFFER_PARAMETER").values():
        one.say(f"Lossless traffic pattern:\n{plain_table([[field, row[field]] for field in sorted(row)])}\n")
    for table, title in (("BUFFER_POOL", "Pool"), (_PROFILES, "Profile")):
        one.say(listing(one.db, table, title) or f"No buffer {title.lower()} information available\n", end="")
        if verbose and one.db.table(table):
            one.say(f"Total {title.lower()}s: {len(one.db.table(table))}", end="\n\n\n" if title == "Pool" else "\n")


def _set(one: Run, profile: str, field: str, value: str, verbose: bool) -> None:
    if one.call.user != "root":
        one.leave("Root privileges required for this operation")
    row = one.db.table(_PROFILES).get(profile)
    names = {"dynamic_th": "dynamic thresholding", "static_th": "static threshold"}
    if row is not None and field in names and field not in row:
        one.leave(f"{profile} not using {names[field]}")
    if verbose:
        one.say(f"Setting {profile} {field} value to {value}")
    one.db.set_fields(f"{_PROFILES}|{profile}", {field: value})


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
