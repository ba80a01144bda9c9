"""What differs from site to site, and how fast the time of tests passes; both can be set where the simulator starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from sonic_sim.errors import SimulatorError

ENVIRONMENT = "SONIC_SIM_FLOWS"
"""The variable that sets constants when the simulator starts: ``burst_bytes=*2 loss_ratio=*0.5 seed=7 speedup=20``. A
number replaces the constant, ``*`` and a number multiply it."""


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of the model. A healthy fabric stays healthy with each of them half or twice as large."""

    # Packets that a healthy link loses, as a share: 400GBASE-R allows 6.2e-11 (IEEE 802.3, 116.4).
    loss_ratio: float = 1e-15
    # Bit errors before FEC of a healthy link at 100 Gb/s a lane, as a share.
    healthy_ber: float = 2e-9
    # A NIC sends so many bytes at line rate before it turns to its next queue pair.
    burst_bytes: float = 65536.0
    # What a packet waits in each switch of an idle path, with its cable.
    queue_delay_us: float = 0.6
    # Both NICs of a path together.
    nic_delay_us: float = 1.6
    # The slowest packet of a thousand waits so much longer for the PCIe bus and the memory of a node.
    tail_us: float = 3.0
    # From an acknowledgment that asks for a packet again to the arrival of that packet, on an idle path.
    round_trip_us: float = 8.0
    # A receiver sends at most one CNP a queue pair in this time, a sender adapts its rate as often.
    reaction_us: float = 25.0
    # From the decision to pause until the neighbor has stopped, beside cable and the packet that it is sending.
    pause_us: float = 1.0
    # A NIC that receives at line rate waits for memory so often, and so long: it pauses its switch meanwhile.
    nic_stalls_per_s: float = 0.5
    nic_stall_us: float = 40.0
    # Tools measure up to this share less than what the wire carries: the start, the PCIe bus.
    measurement_noise: float = 0.012
    # DCQCN shares a link up to this share less evenly than max-min fairness.
    unfairness: float = 0.015
    # A step of a collective without data.
    collective_step_us: float = 5.0
    # GB/s a GPU: NVLink of eight GPUs of 2023.
    nvlink_gbytes: float = 360.0
    # A slow GPU reaches this share of its bus bandwidth.
    slow_gpu_share: float = 0.6
    # The hash of every switch is drawn by this number; 0 draws another one at every start.
    seed: float = 0.0
    # Seconds of a test for one second of this machine; 0: 10, and 1 where the simulator runs in real time.
    speedup: float = 0.0


def constants_of(environment: Mapping[str, str] | None = None) -> Constants:
    """Return the constants as ``environment`` sets them, by default that of this process.

    Raises SimulatorError for a constant that does not exist, or a value that is not a number.
    """
    if environment is None:
        environment = os.environ
    constants = Constants()
    names = [field.name for field in fields(Constants)]
    for setting in environment.get(ENVIRONMENT, "").split():
        name, _, value = setting.partition("=")
        if name not in names:
            raise SimulatorError(f"{ENVIRONMENT}: no constant {name!r}; there are: {', '.join(names)}")
        try:
            number = float(value.removeprefix("*"))
        except ValueError as error:
            raise SimulatorError(f"{ENVIRONMENT}: {setting!r} is not NAME=NUMBER or NAME=*NUMBER") from error
        if value.startswith("*"):
            number *= getattr(constants, name)
        constants = replace(constants, **{name: number})
    return constants


def speedup_of(constants: Constants, waits_scale: float) -> float:
    """Return how many seconds of a test pass in one second of this machine.

    Unless the constants state it, that follows from ``waits_scale``, the scale of the switches' waits.
    """
    if constants.speedup > 0:
        return constants.speedup
    return 1.0 if waits_scale >= 1.0 else 10.0
