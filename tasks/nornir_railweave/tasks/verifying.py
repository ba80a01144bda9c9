"""Verification of a fabric: read every device and compare it with what the fabric needs."""

from collections.abc import Collection, Container

from nornir.core import Nornir

from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import only
from nornir_railweave.tasks.verify_device import verify_device
from railweave.fabric.model import Fabric
from railweave.plan.expectation import Expectation, Expecting, expect
from railweave.plan.outcome import VerifyCheck, VerifyResult
from railweave.plan.verification import EVERYONE, swapped_cables


def verify(
    nr: Nornir,
    fabric: Fabric,
    devices: Collection[str] | None = None,
    *,
    settled: Container[str] = EVERYONE,
    timeout_s: float = 0,
    interval_s: float = 1,
    events: Events = silent,
    expecting: Expecting = expect,
) -> VerifyResult:
    """Return every check of ``devices`` (None: of the whole fabric), read again for ``timeout_s`` until all hold.

    Of a link whose far end is not ``settled`` nothing is expected that depends on that end. ``expecting`` tells what
    must be seen on a switch.
    """
    names = [switch.name for switch in fabric.switches if devices is None or switch.name in devices]
    announce = Announcer([events])
    announce(Event(Step.VERIFYING, text=f"verifying {len(names)} devices", details={"devices": len(names)}))

    def expectation(name: str) -> Expectation:
        return expecting(fabric, fabric.switch_of[name])

    checks: list[VerifyCheck] = []
    if names:
        results = only(nr, names).run(
            verify_device,
            on_failed=True,
            expectation=expectation,
            settled=settled,
            timeout_s=timeout_s,
            interval_s=interval_s,
            announce=announce,
        )
        for name in names:
            result = results[name][0]
            if result.exception is not None:
                raise result.exception
            checks += result.result
    return VerifyResult(tuple(checks), tuple(str(swap) for swap in swapped_cables(fabric, checks)))
