"""What ports count while they are up, traffic or not: codewords by their wrong symbols, corrected bits, error rates.

Counts are drawn, so that two readings of a link differ as those of a real one do.
"""

from random import Random

from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.codewords import Code, draw_codewords
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.ledger import PORTS, QUEUES, Ledger, RowKey, nic_row
from sonic_sim.flows.link_faults import time_parts
from sonic_sim.flows.losses import LinkQuality, quality_at
from sonic_sim.flows.nics import FlowNic
from sonic_sim.flows.rates import ErrorRates
from sonic_sim.flows.wires import Wire, wire_at
from sonic_sim.network import End

_AGAIN_S = 0.05
_FEC = "SAI_PORT_STAT_IF_IN_FEC_"
_BINS = 16


class PortMeter:
    """Counts of time; every port is brought up to now when it is read."""

    def __init__(self, net: Fabric, constants: Constants, ledger: Ledger, random: Random) -> None:
        self.net = net
        self.constants = constants
        self.ledger = ledger
        self._random = random
        self._read_at: dict[End, float] = {}
        self._switch_read_at: dict[str, float] = {}
        self._rates: dict[str, dict[str, ErrorRates]] = {}

    def quality(self, end: End, nic: int) -> LinkQuality:
        """Return the quality of the direction of a link that ends at ``end``; ``nic`` is the number of a NIC there."""
        return quality_at(self.net, end, nic, wire_at(self.net, end), self.constants)

    def rates(self, device: Device, port: str) -> Hash:
        """Return the error rates of a port as SONiC's script wrote them last; empty if it has written none."""
        rates = self._rates.get(device.name, {}).get(port)
        if rates is None:
            return {}
        return rates.row()

    def count_switch(self, device: Device, now: float) -> None:
        """Bring the ports of a switch up to ``now``, in seconds of this machine."""
        # A reader asks for one port after the other, and each request counts all of them.
        if now - self._switch_read_at.get(device.name, -_AGAIN_S) < _AGAIN_S:
            return
        self._switch_read_at[device.name] = now
        for port in self.net.ports(device):
            end = End(device.name, port)
            seconds = self._seconds(end, now)
            if self.net.link_up(device, port):
                self._count_port(device, end, seconds, now)
                self._count_drops(device, end, seconds)

    def _count_drops(self, device: Device, end: End, seconds: float) -> None:
        """Count the packets that a broken ASIC drops in a queue of a port."""
        fault = device.faults.of_port(FaultKind.QUEUE_DROPS, end.port)
        if fault is None:
            return
        packets = fault.rate * min(seconds, max(0.0, device.clock.now() - fault.since))
        self.ledger.add(RowKey(QUEUES, end.node, end.port, fault.priority), "SAI_QUEUE_STAT_DROPPED_PACKETS", packets)
        self.ledger.add(RowKey(PORTS, end.node, end.port), "SAI_PORT_STAT_IF_OUT_DISCARDS", packets)

    def _count_port(self, device: Device, end: End, seconds: float, now: float) -> None:
        """Count the codewords that arrived at a port in the last ``seconds``."""
        wire = wire_at(self.net, end)
        if wire.code is None:
            return
        key = RowKey(PORTS, end.node, end.port)
        for part in time_parts(self.net, end, device.clock.now(), seconds):
            quality = quality_at(self.net, end, 0, wire, self.constants, part.middle)
            self._count_codewords(key, wire, wire.code, quality, part.seconds)
        row = self.ledger.counts(key)
        rates = self._rates.setdefault(device.name, {}).setdefault(end.port, ErrorRates())
        rates.follow(row, now, self.net.ports(device)[end.port])

    def _count_codewords(self, key: RowKey, wire: Wire, code: Code, quality: LinkQuality, seconds: float) -> None:
        """Draw how many codewords of ``seconds`` have how many wrong symbols, and count them."""
        codewords = int(wire.gbps * 1e9 * seconds / code.bits)
        *bins, lost = draw_codewords(self._random, codewords, quality.codewords)
        add = self.ledger.add
        for wrong, count in enumerate(bins[:_BINS]):
            add(key, f"{_FEC}CODEWORD_ERRORS_S{wrong}", count)
        wrong_symbols = sum(wrong * count for wrong, count in enumerate(bins))
        add(key, f"{_FEC}CORRECTABLE_FRAMES", sum(bins[1:]))
        add(key, f"{_FEC}NOT_CORRECTABLE_FRAMES", lost)
        add(key, f"{_FEC}SYMBOL_ERRORS", wrong_symbols)
        # A wrong symbol has one wrong bit, and now and then a second one.
        share = code.symbol_error_rate(quality.ber)
        if share:
            add(key, f"{_FEC}CORRECTED_BITS", round(wrong_symbols * code.symbol_bits * quality.ber / share))

    def count_nic(self, node: str, nic: FlowNic, now: float) -> None:
        """Bring the counters of a NIC up to ``now``, in seconds of this machine."""
        end = End(node, nic.name)
        seconds = self._seconds(end, now)
        far = self.net.cables.get(end)
        if far is None:
            return
        device = self.net.devices.get(far.node)
        if device is None or not nic.up or not self.net.link_up(device, far.port):
            return
        wire = wire_at(self.net, end)
        if wire.code is None:
            return
        quality = quality_at(self.net, end, nic.nic, wire, self.constants)
        bits = wire.gbps * 1e9 * seconds
        key = nic_row(end)
        self.ledger.add(key, "rx_corrected_bits_phy", bits * quality.ber * (1 - quality.uncorrectable))
        self.ledger.add(key, "rx_pcs_symbol_err_phy", bits / wire.code.bits * quality.uncorrectable)
        for lane, ber in enumerate(quality.lanes):
            self.ledger.add(key, f"rx_err_lane_{lane}_phy", bits / len(quality.lanes) * ber)

    def _seconds(self, end: End, now: float) -> float:
        """Return the seconds since an end was counted last, 0 for the first time."""
        last_read_at = self._read_at.get(end, now)
        self._read_at[end] = now
        return now - last_read_at
