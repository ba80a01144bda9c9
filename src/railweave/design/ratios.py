"""Ratios and bandwidths as people write them: ``1.33:1``, ``12.8 Tb/s``."""

from fractions import Fraction
from math import ceil

from railweave.intent.model import Intent, WorkloadKind

AUTOMATIC_RATIO = {
    WorkloadKind.PRETRAINING: Fraction(1),
    WorkloadKind.MIXED: Fraction(3, 2),
    WorkloadKind.FINE_TUNING: Fraction(3, 2),
    WorkloadKind.INFERENCE: Fraction(2),
}
"""Oversubscription that ``auto`` stands for (design rule)."""

RECOMMENDED_RATIO = {
    WorkloadKind.PRETRAINING: Fraction(1),
    WorkloadKind.MIXED: Fraction(3, 2),
    WorkloadKind.FINE_TUNING: Fraction(2),
    WorkloadKind.INFERENCE: Fraction(4),
}
"""The highest oversubscription that is recommended."""

_TERABIT_GBPS = 1000
_PETABIT_GBPS = 1_000_000


def asked_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription that the intent states, or that of its workload if it is automatic."""
    stated = intent.topology.oversubscription
    if stated is None:
        return AUTOMATIC_RATIO[intent.workload.kind]
    return stated


def ratio_text(ratio: Fraction | float) -> str:
    """Return a ratio with at most two decimals: ``1:1``, ``1.33:1``."""
    return f"{round(float(ratio), 2):g}:1"


def exact_ratio_text(ratio: Fraction | float) -> str:
    """Return a ratio with three digits, since that of few connected ports is small: ``0.125:1``."""
    return f"{float(ratio):.3g}:1"


def asking_text(ratio: Fraction) -> str:
    """Return a ratio as the intent would ask for it, rounded up to two decimals: ``"1.34:1"``."""
    return f'"{ceil(ratio * 100) / 100:g}:1"'


def bandwidth_text(gbps: int) -> str:
    """Return a bandwidth in the unit people use for it: ``400 Gb/s``, ``51.2 Tb/s``, ``4.9 Pb/s``."""
    if gbps >= _PETABIT_GBPS:
        return f"{round(gbps / _PETABIT_GBPS, 1):g} Pb/s"
    if gbps >= _TERABIT_GBPS:
        return f"{gbps / _TERABIT_GBPS:g} Tb/s"
    return f"{gbps} Gb/s"
