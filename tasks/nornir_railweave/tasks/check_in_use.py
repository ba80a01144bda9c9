"""See which of a device's ports that are to close for good are still in use."""

from collections.abc import Mapping, Sequence

from nornir.core.task import Result, Task

from napalm_sonic.clock import Clock
from nornir_railweave.device.observing import count_over
from nornir_railweave.device.quiet import packet_rates
from nornir_railweave.device.session import DEVICE_ERRORS, session
from railweave.plan.model import LivePort
from railweave.sonic.delta.closing import ClosingPort

INTERVAL_S = 1.0
"""Between two readings of the counters; SONiC renews its counters once a second."""


def check_in_use(
    task: Task,
    *,
    ports_of: Mapping[str, Sequence[ClosingPort]],
    hosts: frozenset[str],
    packets_per_s: float,
    clock: Clock,
) -> Result:
    """Return the ``LivePort`` values of one device: what is up at a GPU node, and what carries packets elsewhere.

    A node may begin to send at any moment, so its link counts; a switch that leaves is drained first, and then its
    links carry less than ``packets_per_s``. ``hosts`` are the nodes that stay. A device that does not answer says
    nothing of its ports, and they count as in use.
    """
    closing = ports_of[task.host.name]
    with session(task) as opened:
        try:
            state = opened.driver.get_interfaces()
            up = [one for one in closing if state.get(one.port, {}).get("is_up")]
            watched = [one.port for one in up if one.far_end and not (one.is_server or one.far_end in hosts)]
            rates = packet_rates(count_over(opened.driver, INTERVAL_S, clock), watched) if watched else {}
            live = [one for one in up if one.port not in rates or rates[one.port] >= packets_per_s]
        except (*DEVICE_ERRORS, NotImplementedError):
            live = list(closing)
    return Result(host=task.host, result=tuple(LivePort(one.port, one.far_end) for one in live))
