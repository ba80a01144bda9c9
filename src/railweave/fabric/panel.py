"""The ports of a switch model in one breakout, as SONiC names them."""

from dataclasses import dataclass
from typing import NamedTuple

from railweave.fabric.buffers import Buffers


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A logical port after breakout, as SONiC names it.

    ``index`` counts logical ports in panel order from 0; ``panel`` is the front-panel number (PORT.index);
    ``lanes`` is SONiC's comma-separated list; ``subport`` is 0 for a whole cage, else 1..n.
    """

    index: int
    name: str
    alias: str
    lanes: str
    speed_gbps: int
    panel: int
    subport: int
    fec: str


class Panel(NamedTuple):
    """The fabric ports of one switch model in one breakout; service ports (management 10G) are left out."""

    # The id of the switch model.
    model: str
    hwsku: str
    platform: str
    # Vendor and family in one phrase.
    asic: str
    ports: tuple[SwitchPort, ...]
    # (parent port, mode) for BREAKOUT_CFG; empty on a platform without breakout modes.
    breakout: tuple[tuple[str, str], ...]
    # None if the HWSKU ships no buffer configuration.
    buffers: Buffers | None = None
    # SONiC sets the fields of the ASIC's ECMP hash.
    hash_fields: bool = False
    # The first SONiC release that trims packets on the ASIC; empty if none does.
    trims_from: str = ""
    # The most next hops of a route; None if no source states it.
    ecmp_limit: int | None = None
    # The number of cages of a line card; 0 for a switch without.
    card_cages: int = 0
    # The rules that an ingress ACL table holds; None if no source states it.
    acl_rules: int | None = None

    @property
    def is_model(self) -> bool:
        """Tell whether it is of a switch model; else only the number of its ports and their speed are known."""
        return bool(self.platform)

    def place_of(self, index: int) -> tuple[int, int]:
        """Return the place of a port, also with another breakout or model: its cage, from 0, and its part, from 1."""
        port = self.ports[index]
        # Some models number their cages from 0, others from 1.
        return port.panel - self.ports[0].panel, max(port.subport, 1)

    def card_of(self, port: SwitchPort) -> int | None:
        """Return the line card of a port, from 1; None for a switch without."""
        if not self.card_cages:
            return None
        return (port.panel - 1) // self.card_cages + 1
