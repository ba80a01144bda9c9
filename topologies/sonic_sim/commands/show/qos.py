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
def ecn(run: Run, verbose: bool, namespace: str | None) -> None:
    run.finish(run_ecnconfig(Call(run.device, ["ecnconfig", "-l"])))


@show.leaf("mmu", "Show mmu configuration", _asic, _verbose)
def mmu(run: Run, verbose: bool, namespace: str | None) -> None:
    _buffers(run, verbose=verbose, namespace=namespace)


buffer = show.branch("buffer", "Show buffer information")


@buffer.leaf("configuration", "show buffer configuration", _asic, _verbose)
def configuration(run: Run, verbose: bool, namespace: str | None) -> None:
    _buffers(run, verbose=verbose, namespace=namespace)


def _buffers(run: Run, *, verbose: bool, namespace: str | None) -> None:
    """Run mmuconfig, which prints the pools and profiles."""
    words = ["mmuconfig", "-l"]
    if namespace is not None:
        words += ["-n", namespace]
    if verbose:
        words.append("-vv")
    run.finish(run_mmuconfig(Call(run.device, words)))


pfc = show.branch("pfc", "Show details of the priority-flow-control (pfc)")


@pfc.leaf("priority", "Show pfc priority", _interface, NAMESPACE[1])
def priority(run: Run, interface: str | None, namespace: str | None) -> None:
    _pfc(run, interface, "PORT_QOS_MAP", "pfc_enable", "Lossless priorities")


@pfc.leaf("asymmetric", "Show asymmetric pfc", _interface, NAMESPACE[1])
def asymmetric(run: Run, interface: str | None, namespace: str | None) -> None:
    _pfc(run, interface, "PORT", "pfc_asym", "Asymmetric")


def _pfc(run: Run, interface: str | None, name: str, field: str, header: str) -> None:
    """Print a field of the rows of the table ``name``, of all ports or of one."""
    rows = run.db.table(name)
    if name == "PORT_QOS_MAP" and interface is not None and interface not in rows:
        run.stop(f"Cannot find interface {interface}", 0)
    if interface is not None:
        ports = [interface] if interface in rows else []
    else:
        # PORT_QOS_MAP|global is of no port.
        ports = sorted((port for port in rows if port != "global"), key=natural_key)
    body = [[port, rows[port].get(field) or "N/A"] for port in ports]
    run.say(f"\n{table(['Interface', header], body)}\n")


pfcwd = show.branch("pfcwd", "Show details of the pfc watchdog")


@pfcwd.leaf("config", "Show pfc watchdog config", *NAMESPACE, VERBOSE)
def watchdog_config(run: Run, **others: Any) -> None:
    run.finish(run_pfcwd(Call(run.device, ["pfcwd", "show", "config"])))


@pfcwd.leaf("stats", "Show pfc watchdog stats", *NAMESPACE, VERBOSE)
def watchdog_stats(run: Run, **others: Any) -> None:
    run.finish(run_pfcwd(Call(run.device, ["pfcwd", "show", "stats"])))
