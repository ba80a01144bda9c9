"""Errors of a port between two readings of its counters: before correction, and what FEC could not correct.

Names of counters: sonic-swss orchagent/portsorch.cpp, port_stat_ids. Rates that SONiC computes are not used:
FEC_PRE_BER_MAX keeps the first poll after boot for ever, FEC_POST_BER is an assumption (port_rates.lua).
"""

from collections.abc import Mapping
from math import isnan, log1p
from typing import NamedTuple

from railweave.acceptance.deltas import counter_delta, row_has_restarted
from railweave.acceptance.readings import Answer
from railweave.fabric.fec import NO_FEC, loss_by_bins
from railweave.fabric.link_limits import LinkLimits

_FEC = "SAI_PORT_STAT_IF_IN_FEC_"
UNCORRECTABLE = f"{_FEC}NOT_CORRECTABLE_FRAMES"
CORRECTED_BITS = f"{_FEC}CORRECTED_BITS"
SYMBOL_ERRORS = f"{_FEC}SYMBOL_ERRORS"
# S0 counts the clean codewords. SAI has S16, which SONiC does not poll.
BINS = tuple(f"{_FEC}CODEWORD_ERRORS_S{count}" for count in range(16))
FRAME_ERRORS = "SAI_PORT_STAT_IF_IN_ERRORS"
_COUNTED = (*BINS, UNCORRECTABLE, CORRECTED_BITS, SYMBOL_ERRORS, FRAME_ERRORS)


class LinkErrors(NamedTuple):
    """The errors of a port between two readings."""

    # Why figures are missing; empty if all are there.
    unmeasured: str = ""
    # Bits that arrived, idle ones included.
    bits: float = 0.0
    # Bit error rate before correction, as if each wrong symbol had one wrong bit; None without FEC counters.
    bit_error_rate: float | None = None
    # Codewords that FEC could not correct; frames with errors on a link without FEC.
    uncorrectable: int = 0
    # The share of codewords that will be lost, by the bins alone.
    loss_by_bins: float = 0.0


def port_errors(
    before: Mapping[str, int] | None,
    after: Mapping[str, int] | None,
    seconds: float,
    limits: LinkLimits,
    *,
    rebooted: bool = False,
) -> LinkErrors:
    """Return the errors of a port between two rows of its counters; None is a row that the switch did not report.

    ``seconds`` are those between the readings, and ``rebooted`` tells that the switch booted in between. If the rows
    cannot be compared, the result has the reason and no errors.
    """
    reason = _unmeasured_reason(before, after, seconds, rebooted=rebooted)
    if before is None or after is None or reason:
        return LinkErrors(reason)
    error_growth = _error_growth(before, after)
    if error_growth.unmeasured:
        return LinkErrors(error_growth.unmeasured)
    growth = error_growth.counters
    if limits.fec is NO_FEC:
        return _errors_without_fec(growth, seconds, limits)
    if after.get(BINS[0]) and not growth.get(BINS[0]):
        return LinkErrors("no codewords arrived between the readings")
    return _errors_before_fec(growth, seconds, limits)


class _ErrorGrowth(NamedTuple):
    """By how much the counters of errors grew between two readings."""

    # By the name of the counter, without counters that the switch does not have.
    counters: Mapping[str, int]
    # Why that is not known; empty if it is.
    unmeasured: str = ""


def _error_growth(before: Mapping[str, int], after: Mapping[str, int]) -> _ErrorGrowth:
    """Return by how much the counters of errors grew, or why that is not known."""
    if after.keys().isdisjoint(_COUNTED):
        return _ErrorGrowth({}, "its switch reports no errors")
    counters: dict[str, int] = {}
    for name in _COUNTED:
        if name not in before and name not in after:
            continue
        if name not in before or name not in after:
            return _ErrorGrowth({}, f"its counter {name} is missing in one of two readings")
        grown = after[name] - before[name]
        if grown < 0:
            # The counter passed its last value, or somebody reset it.
            delta = counter_delta(name, before[name], after[name])
            if delta.answer is Answer.INVALID:
                return _ErrorGrowth({}, f"its counter {name} went backwards")
            grown = delta.grown
        counters[name] = grown
    return _ErrorGrowth(counters)


def _unmeasured_reason(
    before: Mapping[str, int] | None, after: Mapping[str, int] | None, seconds: float, *, rebooted: bool
) -> str:
    """Return why two rows cannot be compared; empty if they can."""
    if before is None or after is None:
        return "its switch reports no counters of the port"
    if rebooted or row_has_restarted(before, after):
        return "its counters restarted between the readings"
    if isnan(seconds):
        return "the answer of its switch has no time"
    if seconds <= 0:
        return "the clock of its switch went backwards between the readings"
    return ""


def _errors_without_fec(growth: Mapping[str, int], seconds: float, limits: LinkLimits) -> LinkErrors:
    """Return the errors of a link without FEC, by frames with errors."""
    if FRAME_ERRORS not in growth:
        return LinkErrors(f"its switch does not count {FRAME_ERRORS}")
    bits = limits.speed_gbps * 1e9 * seconds
    # A frame with errors has at least one wrong bit.
    return LinkErrors("", bits, growth[FRAME_ERRORS] / bits, growth[FRAME_ERRORS])


def _errors_before_fec(growth: Mapping[str, int], seconds: float, limits: LinkLimits) -> LinkErrors:
    """Return the errors of a link with FEC: by its bins if the switch counts them, else by its corrected bits."""
    fec = limits.fec
    bins = [growth.get(name, 0) for name in BINS]
    # Clean codewords are the first bin: a link that is up has some.
    has_bins = bins[0] != 0
    uncorrectable = growth.get(UNCORRECTABLE, 0)
    codewords = float(sum(bins) + uncorrectable)
    if has_bins:
        wrong_symbols = sum(errors * codewords_of_bin for errors, codewords_of_bin in enumerate(bins))
        # A codeword that FEC cannot correct has at least one wrong symbol more than it corrects.
        wrong_symbols += (fec.correctable + 1) * uncorrectable
    elif CORRECTED_BITS in growth or SYMBOL_ERRORS in growth:
        # Without bins the codewords are those of the line rate.
        codewords = limits.codewords_per_s * seconds
        wrong_symbols = growth.get(CORRECTED_BITS, growth.get(SYMBOL_ERRORS, 0))
    else:
        return LinkErrors("its switch reports no FEC counters", uncorrectable=uncorrectable)
    symbol_error_rate = min(0.5, wrong_symbols / (codewords * fec.symbols))
    unmeasured = ""
    if UNCORRECTABLE not in growth:
        unmeasured = f"its switch does not count {UNCORRECTABLE}"
    return LinkErrors(
        unmeasured=unmeasured,
        bits=codewords * fec.codeword_bits,
        # A symbol is right if all of its bits are.
        bit_error_rate=-log1p(-symbol_error_rate) / fec.symbol_bits,
        uncorrectable=uncorrectable,
        loss_by_bins=loss_by_bins(fec, bins, uncorrectable) if has_bins else 0.0,
    )
