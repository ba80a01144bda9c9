"""``show ecn``, ``show buffer``, ``show mmu``, ``show pfc`` and ``show pfcwd``."""

from typing import Any

from sonic_sim.commands.click7 import Run, argument, flag, option, pass_run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.ecnconfig import listing, run_ecnconfig
from sonic_sim.commands.pfcwd import run_pfcwd
from sonic_sim.commands.show.root import namespace_options, show, verbose
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key
from sonic_sim.shell.programs import Call

_interface = argument("interface", required=False)
_namespace = option("-n", "--namespace")


@show.command()
@verbose
@pass_run
def ecn(one: Run, verbose: bool) -> None:
    """Show ECN configuration"""
    one.finish(run_ecnconfig(Call(one.device, ["ecnconfig", "-l", *(["-vv"] if verbose else [])])))


@show.command()
@verbose
@pass_run
def mmu(one: Run, verbose: bool) -> None:
    """Show mmu configuration"""
    _buffers(one)


@show.group()
def buffer() -> None:
    """Show buffer information"""


not_simulated(buffer, "information  show buffer information")


@buffer.command()
@verbose
@pass_run
def configuration(one: Run, verbose: bool) -> None:
    """show buffer configuration"""
    _buffers(one)


def _buffers(one: Run) -> None:
    one.say(listing(one.db, "BUFFER_POOL", "Pool") + listing(one.db, "BUFFER_PROFILE", "Profile"), end="")


@show.group()
def pfc() -> None:
    """Show details of the priority-flow-control (pfc)"""


not_simulated(pfc, "counters  Show pfc counters")


@pfc.command()
@_interface
@_namespace
@pass_run
def priority(one: Run, interface: str | None, namespace: str | None) -> None:
    """Show pfc priority"""
    _pfc(one, interface, "PORT_QOS_MAP", "pfc_enable", "Lossless priorities")


@pfc.command()
@_interface
@_namespace
@pass_run
def asymmetric(one: Run, interface: str | None, namespace: str | None) -> None:
    """Show asymmetric pfc"""
    _pfc(one, interface, "PORT", "pfc_asym", "Asymmetric")


def _pfc(one: Run, interface: str | None, name: str, field: str, header: str) -> None:
    rows = one.db.table(name)
    if interface is not None and interface not in rows:
        one.stop(f"Cannot find interface {interface}", 0)
    ports = [interface] if interface else sorted((port for port in rows if port != "global"), key=natural_key)
    one.say(f"\n{table(['Interface', header], [[port, rows[port].get(field) or 'N/A'] for port in ports])}\n")


@show.group()
def pfcwd() -> None:
    """Show details of the pfc watchdog"""


@pfcwd.command("config")
@namespace_options
@verbose
@pass_run
def watchdog_config(one: Run, **others: Any) -> None:
    """Show pfc watchdog config"""
    one.finish(run_pfcwd(Call(one.device, ["pfcwd", "show", "config"])))


@pfcwd.command("stats")
@flag("-e", "--empty")
@namespace_options
@verbose
@pass_run
def watchdog_stats(one: Run, **others: Any) -> None:
    """Show pfc watchdog stats"""
    one.finish(run_pfcwd(Call(one.device, ["pfcwd", "show", "stats"])))
