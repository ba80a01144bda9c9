"""The alert of error rates and the grades of `links` have one limit, by port and with the keys of the intent."""

import pytest
from reference_intents import ROOT
from telemetry_samples import Samples, fabric_of, threshold_samples

from railweave.fabric.fec import NO_FEC
from railweave.fabric.link_limits import LimitsOf
from railweave.links.grades import Grade, rate_reason
from railweave.links.trend import Sample
from railweave.telemetry.metrics import WATCH_RATIO
from railweave.telemetry.rules.links import PRE_FEC_BER

LAB = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")


def limits_by_port(samples: Samples) -> dict[tuple[str, str], float]:
    limits = {}
    for (name, labels), value in samples.items():
        if name == WATCH_RATIO.name:
            of = dict(labels)
            limits[of["device"], of["port"]] = value
    return limits


@pytest.mark.parametrize("more", ["", "links: {warn_ber: 3e-8}\n", "links: {job_loss: 0.000001, job_hours: 720}\n"])
def test_a_rate_alerts_exactly_where_it_is_no_longer_grade_a(more: str) -> None:
    fabric = fabric_of(LAB + more)
    served = limits_by_port(threshold_samples(fabric))
    assert PRE_FEC_BER.limit.promql == WATCH_RATIO.name
    assert PRE_FEC_BER.comparison == ">="
    policy = fabric.policies.links
    ports = 0
    for switch in fabric.switches:
        for link in fabric.links_of[switch.name]:
            limits = LimitsOf(fabric).of(link)
            port = fabric.ports_of[switch.name][link.port_of(switch.name)].name
            limit = served.get((switch.name, port))
            assert (limit is None) == (limits.fec is NO_FEC)
            if limit is not None:
                ports += 1
                # The text has six digits.
                assert rate_reason([Sample(0.0, limit * 0.9999)], limits, policy) is None
                reason = rate_reason([Sample(0.0, limit * 1.0001)], limits, policy)
                assert reason is not None
                assert reason.grade >= Grade.B
    assert ports == 2 * len(fabric.links) - len(fabric.hosts) * 2
