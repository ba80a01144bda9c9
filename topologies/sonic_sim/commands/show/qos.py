"""``show ecn``, ``show buffer``, ``show mmu``, ``show pfc`` and ``show pfcwd``."""

from typing import Any

from sonic_sim.commands.click7 import Run, argument, flag, option
from sonic_sim.commands.ecnconfig import run_ecnconfig
from sonic_sim.commands.mmuconfig import run_mmuconfig
from sonic_sim.commands.pfcwd import run_pfcwd
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key
from sonic_sim.shell.programs import Call

_interface = argument("interface", required=False)
_verbose = flag("--verbose", "-vv", help="Enable verbose output")
_asic = option("--namespace", "-n", show_default=True, help="Namespace name or all")  # the program checks it


@show.leaf("ecn", "Show ECN configuration", NAMESPACE[1], VERBOSE)
def ecn(one: Run, verbose: bool, namespace: str | None) -> None:
    one.finish(run_ecnconfig(Call(one.device, ["ecnconfig", "-l"])))


@show.leaf("mmu", "Show mmu configuration", _asic, _verbose)
def mmu(one: Run, verbose: bool, namespace: str | None) -> None:
    _buffers(one, verbose, namespace)


buffer = show.branch("buffer", "Show buffer information")


@buffer.leaf("configuration", "show buffer configuration", _asic, _verbose)
def configuration(one: Run, verbose: bool, namespace: str | None) -> None:
    _buffers(one, verbose, namespace)


def _buffers(one: Run, verbose: bool, namespace: str | None) -> None:
    words = ["mmuconfig", "-l", *([] if namespace is None else ["-n", namespace]), *(["-vv"] if verbose else [])]
    one.finish(run_mmuconfig(Call(one.device, words)))


pfc = show.branch("pfc", "Show details of the priority-flow-control (pfc)")


@pfc.leaf("priority", "Show pfc priority", _interface, NAMESPACE[1])
def priority(one: Run, interface: str | None, namespace: str | None) -> None:
    _pfc(one, interface, "PORT_QOS_MAP", "pfc_enable", "Lossless priorities")


@pfc.leaf("asymmetric", "Show asymmetric pfc", _interface, NAMESPACE[1])
def asymmetric(one: Run, interface: str | None, namespace: str | None) -> None:
    _pfc(one, interface, "PORT", "pfc_asym", "Asymmetric")


def _pfc(one: Run, interface: str | None, name: str, field: str, header: str) -> None:
    rows = one.db.table(name)
    if interface is not None and interface not in rows:
        if name == "PORT_QOS_MAP":
            one.stop(f"Cannot find interface {interface}", 0)
        rows = {}
    ports = (
        [interface]
        if interface in rows and interface
        else sorted((port for port in rows if port != "global"), key=natural_key)
    )
    one.say(f"\n{table(['Interface', header], [[port, rows[port].get(field) or 'N/A'] for port in ports])}\n")


pfcwd = show.branch("pfcwd", "Show details of the pfc watchdog")


@pfcwd.leaf("config", "Show pfc watchdog config", *NAMESPACE, VERBOSE)
def watchdog_config(one: Run, **others: Any) -> None:
    one.finish(run_pfcwd(Call(one.device, ["pfcwd", "show", "config"])))


@pfcwd.leaf("stats", "Show pfc watchdog stats", *NAMESPACE, VERBOSE)
def watchdog_stats(one: Run, **others: Any) -> None:
    one.finish(run_pfcwd(Call(one.device, ["pfcwd", "show", "stats"])))
