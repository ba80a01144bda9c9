"""Every rule: a new one is a value of a module beside this one, a line here, and a page in docs/runbooks."""

from typing import Final

from railweave.telemetry.rules import congestion, devices, links, loss
from railweave.telemetry.rules.model import AlertRule

RECORDING: Final = (devices.LINKS_UP, devices.LINKS_SEEN, devices.OUT)
"""In the order in which they use each other."""

ALERTS: Final[tuple[AlertRule, ...]] = (
    *(loss.QUEUE_DROPS, loss.GROUP_DROPS, loss.STORM, loss.PFC_WITHOUT_ECN, loss.HEADROOM_USED, loss.PAUSED),
    *(congestion.QUEUE_ABOVE_KMAX, congestion.MARKED_SHARE, congestion.IMBALANCE),
    *(links.LINK_DOWN, links.BGP_DOWN, links.WRONG_NEIGHBOR, links.FLAPS, links.ERRORS, links.UNCORRECTABLE),
    *(links.PRE_FEC_BER, links.OPTIC_POWER, links.OPTIC_TEMPERATURE),
    *(devices.CABLE_OUT, devices.DEVICE_OUT, devices.DEVICE_DOWN, devices.UNREAD, devices.STALE, devices.DRIFT),
    *(devices.BELOW_FLOOR, devices.OUT_OF_SEQUENCE, devices.ACK_TIMEOUTS),
)
"""By the number of their codes."""

GROUPS: Final[dict[str, tuple[AlertRule, ...]]] = {
    "loss": ALERTS[:6],
    "congestion": ALERTS[6:9],
    "links": ALERTS[9:18],
    # With the recorded expressions, which its rules use.
    "devices": ALERTS[18:],
}
"""The alerts of each file of rules."""
