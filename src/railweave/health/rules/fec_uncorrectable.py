"""Codewords that FEC could not correct, beyond what the standard allows a link to lose."""

from collections.abc import Iterator
from functools import cache

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.statistics import most_by_chance
from railweave.diagnostics import Severity
from railweave.fabric.fec import FRAME_LOSS_RATIO, RS544
from railweave.health.case import HealthCase
from railweave.health.codes import FEC_UNCORRECTABLE
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import FEC_CODEWORDS
from railweave.health.rules.link_errors import cable_fix


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each port with more uncorrected codewords than the standard and chance allow."""
    ports = sum(map(len, case.ports.values()))
    for port, switch in case.counted():
        codewords = switch.port(port.port).growth(CounterMeaning.FEC_UNCORRECTABLE)
        if codewords and codewords > _most_allowed(port.speed_gbps, switch.seconds, ports):
            message = f"could not correct {codewords:,} codewords in {switch.seconds:.0f} s: their packets are lost"
            yield port_finding(FEC_UNCORRECTABLE, Severity.ERROR, port, message, cable_fix())


@cache
def _most_allowed(speed_gbps: int, seconds: float, ports: int) -> int:
    """Return the most codewords that any of ``ports`` ports may lose by chance at the ratio of the standard."""
    codewords = speed_gbps * 1e9 * seconds / RS544.codeword_bits
    return most_by_chance(codewords * FRAME_LOSS_RATIO, ports)


RULE = HealthRule(FEC_UNCORRECTABLE, "FEC corrects what links get wrong", _judge, (FEC_CODEWORDS,))
