"""The codes of the rules: those of the alerts where an alert watches the same, ``F-…`` for what only health judges."""

from typing import Final

from railweave.telemetry.rules import congestion, links, loss

LOSSLESS_QUEUE_DROPS: Final = loss.QUEUE_DROPS.code
LOSSLESS_GROUP_DROPS: Final = loss.GROUP_DROPS.code
PFC_STORM: Final = loss.STORM.code
PFC_WITHOUT_ECN: Final = loss.PFC_WITHOUT_ECN.code
MARKED_SHARE: Final = congestion.MARKED_SHARE.code
UPLINK_IMBALANCE: Final = congestion.IMBALANCE.code
LINK_DOWN: Final = links.LINK_DOWN.code
BGP_DOWN: Final = links.BGP_DOWN.code
WRONG_NEIGHBOR: Final = links.WRONG_NEIGHBOR.code
LINK_FLAPS: Final = links.FLAPS.code
LINK_ERRORS: Final = links.ERRORS.code
FEC_UNCORRECTABLE: Final = links.UNCORRECTABLE.code

MTU_MISMATCH: Final = "F-1"
PRIORITY_MISMATCH: Final = "F-2"
MARKS_NEVER: Final = "F-3"
MIXED_TRAFFIC: Final = "F-4"
INCAST_DROPS: Final = "F-5"
SLOW_RAIL: Final = "F-6"
OTHER_STATE: Final = "F-7"
