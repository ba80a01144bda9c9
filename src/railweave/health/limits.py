"""The limits of the rules that follow from no threshold of the fabric, each with its source."""

from railweave.plan.health import UNCHANGED_PER_S
from railweave.telemetry.rules import congestion

ERRORS_PER_S = UNCHANGED_PER_S
"""Frames with errors and drops a second up to which a port is well, as in rollouts and `verify`."""

LOADED_SHARE = 0.1
"""Load is compared above a tenth of the line rate: a few flows never spread evenly."""
LEAST_JAIN = congestion.IMBALANCE.limit.factor
"""Jain's index of the loads of uplinks, as the alert has it: 1 if all are equal, 0.8 if one of five is idle."""
LEAST_RAIL_SHARE = 0.8
"""The load of a rail as a share of the median of its peers. Collectives load all rails alike."""

STRAY_PACKETS_PER_S = 100.0
"""Packets a second in a queue without a class. BGP, BFD and LLDP send about 20 a second on a port."""
BULK_PACKET_BYTES = 1000
"""The mean size of packets from which a queue carries bulk data; acknowledgments and control packets are shorter."""

LEAST_PACKETS = 1000
"""Packets of a queue from which the share of marked ones is judged."""
START_FRAMES = 2
"""PFC frames of a port, an XOFF and an XON, that may precede the first mark when all senders start at once."""
