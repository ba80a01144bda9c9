"""Commands of the simulated fabric: start, stop, look, log in, move cables and inject faults."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption

Device = Annotated[str, typer.Argument(metavar="DEVICE", help="A switch, such as pod1-leaf1.")]

Nodes = Annotated[list[str], typer.Argument(metavar="NODE…", help="GPU nodes, such as gpu29.")]


def register(app: typer.Typer) -> None:
    """Add ``railweave sim …`` to ``app``."""
    group = typer.Typer(
        help="The simulated fabric: SONiC's management plane on loopback, over real SSH.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (up, down, status, ssh, cable, power_off, power_on, replace, fault):
        group.command(context_settings={"allow_interspersed_args": command is not ssh})(command)
    app.add_typer(group, name="sim")


def up(
    intent: IntentArgument = None,
    option: IntentOption = None,
    json: AsJson = False,
    real_time: Annotated[bool, typer.Option("--real-time", help="SONiC's waits as long as on a switch.")] = False,
) -> None:
    """Start the simulated fabric of an intent, or add what it has grown by; running switches stay as they are."""
    from railweave.api.project import load_designed, open_project, simulator_state
    from railweave.catalog.load import load_catalog
    from railweave.cli.show import print_document, print_view
    from railweave.cli.simulating import simulator_spec, simulator_words
    from sonic_sim import control

    fabric = load_designed(open_project(intent or option).intent).fabric
    state = simulator_state(fabric.name)
    with simulator_words():
        options = control.SimOptions(time_scale=1.0) if real_time else control.SimOptions()
        endpoints = control.up(state, simulator_spec(fabric, load_catalog()), options)
    if json:
        print_document(
            {"fabric": fabric.name, "pid": endpoints.pid, "devices": len(endpoints.devices), "state": str(state)}
        )
        return
    print_view(
        f"simulated fabric {fabric.name}: {len(endpoints.devices)} switches on loopback, process {endpoints.pid}"
    )


def down(
    intent: IntentArgument = None,
    option: IntentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every simulated fabric of this project.")] = False,
) -> None:
    """Stop the simulated fabric and forget its state."""
    from railweave.api.project import STATE, simulator_state
    from railweave.cli.show import print_view
    from railweave.cli.simulating import simulator_words
    from sonic_sim import control

    folders = sorted((STATE / "sim").glob("*")) if everything else [simulator_state(fabric_name(intent, option))]
    for folder in folders:
        with simulator_words():
            stopped = control.down(folder)
        print_view(f"simulated fabric {folder.name}: {'stopped' if stopped else 'was not running'}")


def status(intent: IntentArgument = None, option: IntentOption = None, json: AsJson = False) -> None:
    """What runs, and which faults are armed."""
    from railweave.api.project import simulator_state
    from railweave.cli.show import print_document, print_view
    from railweave.cli.simulating import simulator_words, status_view
    from sonic_sim import control

    with simulator_words():
        told = control.status(simulator_state(fabric_name(intent, option)))
    if json:
        print_document(told)
    else:
        print_view(status_view(told))


def ssh(
    device: Device,
    command: Annotated[list[str] | None, typer.Argument(help="A command; none opens a session.")] = None,
    option: IntentOption = None,
) -> int:
    """Log in to a simulated switch with OpenSSH, as to a real one."""
    import subprocess

    from railweave.api.project import simulator_state
    from railweave.cli.simulating import ssh_command

    state = simulator_state(fabric_name(None, option))
    return subprocess.run(ssh_command(state, device, tuple(command or ())), check=False).returncode


def cable(
    a: Annotated[str, typer.Argument(metavar="A:PORT", help="One end, such as pod1-leaf1:Ethernet0.")],
    b: Annotated[str, typer.Argument(metavar="B:PORT", help="The other end.")],
    option: IntentOption = None,
) -> None:
    """Plug a cable between two ports; what was in them is pulled."""
    from railweave.api.project import simulator_state
    from railweave.cli.show import print_view
    from railweave.cli.simulating import simulator_words
    from sonic_sim import control

    with simulator_words():
        control.cable(simulator_state(fabric_name(None, option)), a, b)
    print_view(f"cable between {a} and {b}; what was in these ports is pulled")


def power_off(nodes: Nodes, option: IntentOption = None) -> None:
    """Switch GPU nodes off: their links go down, as when they are shut down before they leave the intent."""
    _power(nodes, option, powered=False)


def power_on(nodes: Nodes, option: IntentOption = None) -> None:
    """Switch GPU nodes on again."""
    _power(nodes, option, powered=True)


def _power(nodes: list[str], option: Path | None, *, powered: bool) -> None:
    from railweave.api.project import simulator_state
    from railweave.cli.show import print_view
    from railweave.cli.simulating import simulator_words
    from sonic_sim import control

    with simulator_words():
        control.power(simulator_state(fabric_name(None, option)), nodes, powered=powered)
    print_view(f"{', '.join(nodes)}: {'on' if powered else 'off'}")


def replace(device: Device, option: IntentOption = None, json: AsJson = False) -> None:
    """Put another switch in its place, as from the factory: other serial, MAC and host key, same cables."""
    from railweave.api.project import simulator_state
    from railweave.cli.show import print_document, print_view
    from railweave.cli.simulating import simulator_words
    from sonic_sim import control

    with simulator_words():
        made = control.replace(simulator_state(fabric_name(None, option)), device)
    if json:
        print_document({"device": device, **made})
    else:
        print_view(f"{device}: another switch, serial {made['serial']}, MAC {made['mac']}, as from the factory")


def fault(
    device: Device,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The fault, or `clear`.")],
    command: Annotated[str, typer.Option(help="Fail only commands that contain this text.")] = "",
    after: Annotated[int, typer.Option(help="Let this many commands pass first.")] = 0,
    times: Annotated[int | None, typer.Option(help="How often it occurs; 0: until cleared.")] = None,
    seconds: Annotated[float, typer.Option(help="The delay of `slow`.")] = 1.0,
    moment: Annotated[str, typer.Option(help="Of drop-session: before, during or after the command.")] = "after",
    port: Annotated[str, typer.Option(help="Of errors: the port that counts them; default all.")] = "",
    rate: Annotated[float, typer.Option(help="Of errors: errors and discards a second.")] = 100.0,
    option: IntentOption = None,
) -> None:
    """Inject a fault.

    Kinds: unreachable, slow, refuse-commit, drop-session, lose-config, bgp-down, wrong-host-key, power-cycle, errors.
    """
    from railweave.api.project import simulator_state
    from railweave.cli.show import print_view
    from railweave.cli.simulating import simulator_words
    from sonic_sim import control

    state = simulator_state(fabric_name(None, option))
    with simulator_words():
        if kind == "clear":
            control.clear_fault(state, device)
        else:
            details = {"command": command, "after": after, "seconds": seconds, "moment": moment}
            details |= {"port": port, "rate": rate}
            control.fault(state, device, kind, **details, **({} if times is None else {"times": times}))
    print_view(f"{device}: {'no fault' if kind == 'clear' else kind}")


def fabric_name(intent: Path | None, option: Path | None) -> str:
    """Return the name of the fabric whose simulator is meant."""
    from railweave.api.project import open_project
    from railweave.intent.load import load_intent

    return load_intent(open_project(intent or option).intent).fabric
