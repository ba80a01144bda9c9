"""Ports that close for good because their far end leaves the intent, and whether something still uses them.

A port whose cable moves to another place is none of them: its far end stays in the fabric (``plan.moves``).
"""

from collections.abc import Iterator

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.names import natural_key
from railweave.plan.model import Plan
from railweave.sonic.delta.closing import ClosingPort, closing_ports
from railweave.sonic.delta.diff import DeviceDiff
from railweave.wording import counted, first_few


def leaving_ports(fabric: Fabric, difference: DeviceDiff | None) -> tuple[ClosingPort, ...]:
    """Return the ports of a provisioned device that close and do not lead to a switch that stays in ``fabric``."""
    if difference is None or difference.unprovisioned:
        return ()
    return tuple(one for one in closing_ports(difference.delta) if one.far_end not in fabric.switch_of)


def live_port_diagnostics(plan: Plan) -> Iterator[Diagnostic]:
    """Yield an error where ports would close that something still uses."""
    live = [(name, one) for name, device in plan.devices.items() for one in device.live_ports]
    if not live:
        return
    devices = tuple(dict.fromkeys(name for name, _ in live))
    far_ends = sorted({one.far_end or f"unknown on {name}:{one.port}" for name, one in live}, key=natural_key)
    yield error(
        "RW523",
        f"{counted(len(live), 'port')} of {counted(len(devices), 'switch')} would close for good while"
        f" something uses {'it' if len(live) == 1 else 'them'}: {first_few(far_ends)}",
        devices=devices,
        fix="shut down the removed nodes, or drain the removed switches, until their links are down or without traffic,"
        " then plan again; or deploy with --remove-live if they may lose these links",
    )
