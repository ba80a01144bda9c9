"""What ports count while they are up, traffic or not: bits that FEC corrected, codewords that it could not."""

from math import exp

from sonic_sim.device import Device, Fabric
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.ledger import PORTS, Ledger, RowKey, nic_row
from sonic_sim.flows.losses import CODEWORD_BITS, CORRECTABLE_SYMBOLS, LinkQuality, quality_at
from sonic_sim.flows.nics import FlowNic
from sonic_sim.flows.rows import rows_of
from sonic_sim.network import End

_AGAIN_S = 0.05
_FEC = "SAI_PORT_STAT_IF_IN_FEC_"


class PortMeter:
    """Counts of time; every port is brought up to now when it is read."""

    def __init__(self, net: Fabric, constants: Constants, ledger: Ledger) -> None:
        self.net = net
        self.constants = constants
        self.ledger = ledger
        self._read_at: dict[End, float] = {}
        self._switch_read_at: dict[str, float] = {}

    def quality(self, end: End, nic: int) -> LinkQuality:
        """Return the quality of the direction of a link that ends here."""
        return quality_at(self.net, end, nic, self._gbps(end), self.constants)

    def _gbps(self, end: End) -> float:
        for place in (end, self.net.cables.get(end)):
            device = self.net.devices.get(place.node) if place is not None else None
            if device is not None and place is not None and place.port in self.net.ports(device):
                return rows_of(device)[place.port].gbps
        return 0.0

    def count_switch(self, device: Device, now: float) -> None:
        """Bring the ports of a switch up to ``now``, in seconds of this machine."""
        # A reader asks for each port by itself.
        if now - self._switch_read_at.get(device.name, -_AGAIN_S) < _AGAIN_S:
            return
        self._switch_read_at[device.name] = now
        for port in self.net.ports(device):
            end = End(device.name, port)
            seconds = self._seconds(end, now)
            if not self.net.link_up(device, port):
                continue
            quality = self.quality(end, 0)
            bits = self._gbps(end) * 1e9 * seconds
            codewords = bits / CODEWORD_BITS
            key = RowKey(PORTS, device.name, port)
            add = self.ledger.add
            symbols = CODEWORD_BITS * quality.ber
            share = exp(-symbols)
            for count in range(CORRECTABLE_SYMBOLS + 1):
                if count:
                    share *= symbols / count
                add(key, f"{_FEC}CODEWORD_ERRORS_S{count}", codewords * share)
            damaged = 1 - exp(-symbols) - quality.uncorrectable
            add(key, f"{_FEC}CORRECTABLE_FRAMES", codewords * damaged)
            add(key, f"{_FEC}NOT_CORRECTABLE_FRAMES", codewords * quality.uncorrectable)
            add(key, f"{_FEC}SYMBOL_ERRORS", codewords * symbols)
            add(key, f"{_FEC}CORRECTED_BITS", bits * quality.ber * (1 - quality.uncorrectable))

    def count_nic(self, node: str, nic: FlowNic, now: float) -> None:
        """Bring a NIC up to ``now``."""
        end = End(node, nic.name)
        seconds = self._seconds(end, now)
        far = self.net.cables.get(end)
        device = self.net.devices.get(far.node) if far is not None else None
        if far is None or device is None or not nic.up or not self.net.link_up(device, far.port):
            return
        quality = self.quality(end, nic.nic)
        bits = self._gbps(end) * 1e9 * seconds
        key = nic_row(end)
        self.ledger.add(key, "rx_corrected_bits_phy", bits * quality.ber * (1 - quality.uncorrectable))
        self.ledger.add(key, "rx_pcs_symbol_err_phy", bits / CODEWORD_BITS * quality.uncorrectable)
        for lane, ber in enumerate(quality.lanes):
            self.ledger.add(key, f"rx_err_lane_{lane}_phy", bits / len(quality.lanes) * ber)

    def _seconds(self, end: End, now: float) -> float:
        before = self._read_at.setdefault(end, now)
        self._read_at[end] = now
        return now - before
