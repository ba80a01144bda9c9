"""`railweave sim`: start, stop and inspect the simulated fabric, log in, move cables, inject faults."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption, group
from railweave.cli.show import print_document, print_result, print_view, stop_result
from railweave.cli.terminal import Terminal
from railweave.errors import RailweaveError, UsageError
from railweave.wording import command_line, counted, first_few

if TYPE_CHECKING:
    from rich.console import RenderableType

Device = Annotated[
    str, typer.Argument(metavar="DEVICE", help="A switch, such as pod1-leaf1.", autocompletion=completion.switches)
]

SwitchOrNode = Annotated[
    str,
    typer.Argument(
        metavar="DEVICE", help="A switch or node, such as pod1-leaf1 or gpu3.", autocompletion=completion.devices
    ),
]

Nodes = Annotated[
    list[str], typer.Argument(metavar="NODE", help="GPU nodes, such as gpu29.", autocompletion=completion.nodes)
]


def register(app: typer.Typer) -> None:
    """Add ``railweave sim …`` to ``app``."""
    sim = group(app, "sim", "Run the fabric on simulated SONiC switches (SSH on loopback).")
    for command in (up, down, status, ssh, cable, power_off, power_on, replace, fault):
        # The words after the switch of `sim ssh` are a remote command, with options of its own.
        sim.command(context_settings={"allow_interspersed_args": command is not ssh})(command)


def up(
    intent: IntentArgument = None,
    option: IntentOption = None,
    json: AsJson = False,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Let reloads and waits take as long as on a switch.")
    ] = False,
) -> None:
    """Start the simulated fabric, or add what the intent grew by.

    Running switches are not reset.
    """
    running = api.sim.up(api.open_project(intent or option), real_time=real_time)
    endpoints = running.endpoints
    if json:
        document = {
            "fabric": running.fabric,
            "pid": endpoints.pid,
            "devices": len(endpoints.devices),
            "nodes": len(endpoints.nodes),
            "without_nodes": endpoints.without_nodes,
            "state": str(running.state),
            "unplugged": [list(ends) for ends in endpoints.unplugged],
        }
        print_document(document)
        return
    members = counted(len(endpoints.devices), "switch")
    if endpoints.nodes:
        members += f" and {counted(len(endpoints.nodes), 'node')}"
    print_view(f"simulated fabric {running.fabric}: {members} on loopback, process {endpoints.pid}")
    if endpoints.without_nodes:
        print_view(endpoints.without_nodes)
    if endpoints.unplugged:
        print_view(_unplugged_text(endpoints.unplugged))


def _unplugged_text(cables: Sequence[tuple[str, str]]) -> str:
    """Return the cables that another cable keeps out of their ports, and what plugs them."""
    shown = first_few([f"{a} – {b}" for a, b in cables], 3)
    phase = command_line("sim", "cable", "--from", "REV", "--phase", "N")
    one_cable = command_line("sim", "cable", "A:PORT", "B:PORT")
    return (
        f"not plugged, as another cable is in one of the ports: {counted(len(cables), 'cable')}: {shown}\n"
        f"next: `{phase}` moves the cables of a phase; `{one_cable}` plugs a cable"
    )


def down(
    intent: IntentArgument = None,
    option: IntentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop every simulated fabric of this project.")] = False,
) -> None:
    """Stop the simulated fabric and remove its state."""
    project = None
    if not everything:
        project = api.open_project(intent or option)
    for name, was_running in api.sim.down(project).items():
        print_view(f"simulated fabric {name}: {stop_result(was_running=was_running)}")


def status(intent: IntentArgument = None, option: IntentOption = None, json: AsJson = False) -> None:
    """Show simulated switches and nodes, and injected faults."""
    print_result(api.sim.status(api.open_project(intent or option)), dict, _status_view, as_json=json)


def _status_view(status: Mapping[str, Any]) -> "RenderableType":
    """Return a table of the simulated switches and nodes, or the command that starts the simulator."""
    from rich.table import Table

    if not status.get("running", True):
        return f"no simulated fabric is running; `{command_line('sim', 'up')}` starts one"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("switch", "address", "faults"):
        table.add_column(column)
    for name, device in status["devices"].items():
        table.add_row(name, f"{device['address']}:{device['port']}", _fault_kinds(device.get("faults", ())))
    node_faults = status.get("node_faults", {})
    for name, node in status.get("nodes", {}).items():
        faults = _fault_kinds(node_faults.get(name, ()))
        if not node["powered"]:
            faults = "powered off"
        table.add_row(name, f"{node['address']}:{node['port']}", faults)
    return table


def _fault_kinds(faults: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(fault["kind"] for fault in faults) or "-"


def ssh(
    device: SwitchOrNode,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command; default: an interactive session.")
    ] = None,
    option: IntentOption = None,
) -> int:
    """Log in to a simulated switch or node with OpenSSH."""
    import subprocess

    ssh_command = api.sim.ssh_command(api.open_project(option), device, command or ())
    try:
        # The status is that of the remote command, for scripts.
        return subprocess.run(ssh_command, check=False).returncode
    except OSError as exc:
        raise RailweaveError(f"ssh cannot be run ({exc.strerror}): install OpenSSH's client") from exc


def cable(
    a: Annotated[str, typer.Argument(metavar="A:PORT", help="One end, such as pod1-leaf1:Ethernet0.")] = "",
    b: Annotated[str, typer.Argument(metavar="B:PORT", help="The other end.")] = "",
    option: IntentOption = None,
    base: Annotated[
        str, typer.Option("--from", metavar="REV", help="The deployed intent of a change in phases: a git revision.")
    ] = "",
    phase: Annotated[
        int | None, typer.Option("--phase", metavar="N", min=1, help="Move the cables of this phase (with --from).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Plug a cable between two ports, or move a phase's cables.

    Earlier cables of both ports are unplugged. `sim cable INTENT --from REV --phase N` moves those of a phase.
    """
    if base or phase is not None:
        _move_cables(option, base, phase, a, as_json=json)
        return
    if not b:
        phased = command_line("sim", "cable", "--from", "REV", "--phase", "N")
        raise UsageError(
            f"name both ends, `{command_line('sim', 'cable', 'A:PORT', 'B:PORT')}`, or a phase, `{phased}`"
        )
    api.sim.cable(api.open_project(option), a, b)
    if json:
        print_document({"ends": [a, b]})
    else:
        print_view(f"plugged a cable between {a} and {b}; earlier cables of these ports are unplugged")


def _move_cables(option: Path | None, base: str, phase: int | None, end: str, *, as_json: bool) -> None:
    """Move the cables of a phase and print the result; raises UsageError for incomplete or contradicting options."""
    from railweave.report.phases import rewired_json, rewired_view

    if end:
        raise UsageError(f"a phase names its cables itself: omit {end}")
    if not base or phase is None:
        raise UsageError("a phase is named by both: --from REV, the revision that is deployed, and --phase N")
    rewired = api.sim.move_cables(api.open_project(option, Terminal(quiet=as_json)), base, phase)
    if as_json:
        print_document(rewired_json(rewired.phase, rewired.moved, rewired.added))
    else:
        print_view(rewired_view(rewired.phase, base, rewired.moved, rewired.added))


def power_off(nodes: Nodes, option: IntentOption = None) -> None:
    """Power GPU nodes off: their links go down."""
    api.sim.power(api.open_project(option), nodes, powered=False)
    print_view(f"{', '.join(nodes)}: off")


def power_on(nodes: Nodes, option: IntentOption = None) -> None:
    """Power GPU nodes on again."""
    api.sim.power(api.open_project(option), nodes, powered=True)
    print_view(f"{', '.join(nodes)}: on")


def replace(device: Device, option: IntentOption = None, json: AsJson = False) -> None:
    """Replace a switch by a factory-fresh one on the same cables.

    The new switch has another serial number, MAC address and host key.
    """
    identity = api.sim.replace(api.open_project(option), device)
    if json:
        print_document({"device": device, **identity})
    else:
        print_view(f"{device}: factory-fresh switch, serial {identity['serial']}, MAC {identity['mac']}")


def fault(
    device: SwitchOrNode,
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="The fault, such as slow, or `clear`.", autocompletion=completion.faults),
    ],
    command: Annotated[str, typer.Option(help="Fail only commands that contain this text.")] = "",
    after: Annotated[int, typer.Option(help="Let this many commands pass first.")] = 0,
    times: Annotated[int | None, typer.Option(help="How often it occurs; 0: until cleared.")] = None,
    seconds: Annotated[float, typer.Option(help="For slow and late-daemon: the delay in seconds.")] = 1.0,
    moment: Annotated[str, typer.Option(help="For drop-session: before, during or after the command.")] = "after",
    port: Annotated[str, typer.Option(help="For faults of a port of a switch: the port; default: all.")] = "",
    nic: Annotated[
        int | None, typer.Option(help="For faults of a NIC of a node: its number from 0; default: all.")
    ] = None,
    rate: Annotated[float, typer.Option(help="For errors and queue-drops: how many a second.")] = 100.0,
    speed: Annotated[int, typer.Option(help="For in-force: the Mbit/s that the port runs at.")] = 0,
    fec: Annotated[str, typer.Option(help="For in-force: the FEC that the port runs with.")] = "",
    interval_ms: Annotated[int, typer.Option("--interval-ms", help="For in-force: that of the switch's BFD.")] = 0,
    daemon: Annotated[str, typer.Option(help="For late-daemon: the daemon of FRR; default: all.")] = "",
    ratio: Annotated[float | None, typer.Option(help="For lossy: the share of packets that is lost.")] = None,
    counted: Annotated[bool, typer.Option("--counted", help="For lossy: count the packets as FEC errors.")] = False,
    ber: Annotated[
        float | None, typer.Option(help="For ber and faults of cables: the bit error rate of a lane before FEC.")
    ] = None,
    lane: Annotated[int | None, typer.Option(help="For ber, dirty-fiber and dying-laser: the lane.")] = None,
    db: Annotated[float | None, typer.Option(help="For dirty-fiber: the light that it takes, in dB.")] = None,
    decade_s: Annotated[
        float | None, typer.Option(help="For dying-laser: seconds in which its error rate rises tenfold.")
    ] = None,
    flaps: Annotated[float | None, typer.Option(help="For bad-copper: flaps an hour.")] = None,
    celsius: Annotated[float | None, typer.Option(help="For hot-cage: the temperature of the module.")] = None,
    size: Annotated[
        int | None, typer.Option("--bytes", help="For small-buffer: the bytes at which PFC pauses.")
    ] = None,
    gbps: Annotated[float | None, typer.Option(help="For slow-nic: what its PCIe bus carries, in Gb/s.")] = None,
    dscp: Annotated[int | None, typer.Option(help="For wrong-dscp: the DSCP of RDMA traffic.")] = None,
    priority: Annotated[int | None, typer.Option(help="For pfc-storm and queue-drops: priority or queue.")] = None,
    cleared: Annotated[str, typer.Option("--kind", help="For clear: only faults of this kind.")] = "",
    option: IntentOption = None,
) -> None:
    """Inject a fault in a switch or a GPU node.

    Kinds: unreachable, slow, refuse-commit, drop-session, lose-config, bgp-down, silent, wrong-host-key, power-cycle,
    errors, link-down, no-return (from its next reload), late-daemon (when FRR starts next), daemon-dies,
    in-force (a port runs with another speed or FEC, or BFD with another interval, than is configured).

    Kinds that no configuration shows, in traffic: lossy, ber and no-pfc (switch or node), small-buffer and queue-drops
    (switch), slow-nic, wrong-dscp, slow-gpu and pfc-storm (node).

    Kinds of poor cables, which counters and modules show: dirty-fiber (a lane that receives), dying-laser (of the
    module of the port; the other end counts), bad-copper (both ends), hot-cage (with the module beside it).
    """
    if kind == "clear":
        api.sim.clear_fault(api.open_project(option), device, cleared)
        print_view(f"{device}: {cleared or 'faults'} cleared")
        return
    if cleared:
        raise UsageError("--kind is for `clear` alone")
    details: dict[str, Any] = {
        "command": command,
        "after": after,
        "seconds": seconds,
        "moment": moment,
        "port": port,
        "rate": rate,
    }
    # The other details are passed only if they are given: each has a default, which may depend on the kind of fault.
    if_not_empty = {"daemon": daemon, "speed": speed, "fec": fec, "interval_ms": interval_ms, "counted": counted}
    details |= {name: value for name, value in if_not_empty.items() if value}
    # Zero is a value of these, unlike of those above.
    if_given = {"times": times, "nic": nic, "ratio": ratio, "ber": ber, "lane": lane, "bytes": size, "gbps": gbps}
    if_given |= {"dscp": dscp, "priority": priority, "db": db, "decade_s": decade_s, "flaps": flaps, "celsius": celsius}
    details |= {name: value for name, value in if_given.items() if value is not None}
    api.sim.fault(api.open_project(option), device, kind, **details)
    print_view(f"{device}: {kind}")
