"""Error rates as SONiC's script computes them once a poll of the ports (sonic-swss orchagent/port_rates.lua).

The rate before FEC is of corrected bits over the bits of one poll. That after FEC assumes 1e-8 wrong bits for each
codeword that was not corrected: it is no measurement. The highest rate stays until swss starts again.
"""

from collections.abc import Mapping

from sonic_sim.configdb import Hash
from sonic_sim.network import Port

_POLL_S = 1.0
_LOST_FRAME_BER = 1e-8
_CORRECTED = "SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS"
_LOST = "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES"
# Gb/s on a lane, with its coding, by what the port carries on it.
_SERDES_GBPS = {10: 10.3125, 25: 25.78125, 50: 53.125, 100: 106.25, 200: 212.5}


class ErrorRates:
    """The rates of one port, from poll to poll."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._corrected = 0.0
        self._lost = 0.0
        self._before_fec: float | None = None
        self._after_fec = 0.0
        self._highest = 0.0

    def follow(self, counts: Mapping[str, float], now: float, port: Port) -> None:
        """Compute the rates if a poll has passed since they were computed; ``now`` is in seconds of this machine."""
        if self._at is not None and now - self._at < _POLL_S:
            return
        corrected = counts.get(_CORRECTED, 0.0)
        lost = counts.get(_LOST, 0.0)
        gbps = port.lanes * _SERDES_GBPS.get(port.speed_mbps // port.lanes // 1000, 0.0)
        # Counters that were reset since the last poll give no rate.
        have_grown = corrected >= self._corrected and lost >= self._lost
        if self._at is not None and gbps and have_grown:
            bits = gbps * 1e9 * (now - self._at)
            self._before_fec = (corrected - self._corrected) / bits
            self._after_fec = (lost - self._lost) * _LOST_FRAME_BER / bits
            self._highest = max(self._highest, self._before_fec)
        self._at = now
        self._corrected = corrected
        self._lost = lost

    def row(self) -> Hash:
        """Return the fields of ``RATES:oid``; none before the second poll."""
        if self._before_fec is None:
            return {}
        return {
            "FEC_PRE_BER": f"{self._before_fec:.17g}",
            "FEC_POST_BER": f"{self._after_fec:.17g}",
            "FEC_PRE_BER_MAX": f"{self._highest:.17g}",
        }
