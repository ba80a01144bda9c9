"""What a switch does not show is unknown: no verification passes because a part of its answer is not there.

For every part of an answer that decides a check, the part is taken out, null, or of another kind. Then the answer is
refused, a check fails, or one more is said to be unknown.
"""

from functools import cache
from pathlib import Path

import pytest
from absent_parts import ODD, Answer, Place, changed, places
from napalm.base.exceptions import CommandErrorException

from napalm_sonic.observed import Observed
from nornir_railweave.device.observing import seen_of
from nornir_railweave.tasks.verifying import FabricJudge, Judgment
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.expectation import expect

INTENT = Path(__file__).resolve().parents[3] / "intent/lab-4.yml"
DEVICES = ("lab-leaf1", "lab-spine1")


@cache
def fabric() -> Fabric:
    made = design(load_intent(INTENT), load_catalog()).fabric
    assert made is not None
    return made


@cache
def answer(name: str) -> Answer:
    """Return what a switch shows that is as intended, without what no check looks at."""
    expected = expect(fabric(), fabric().switch_of[name])
    mtu_of = {port.port: port.mtu_bytes for port in expected.ports}
    links = []
    for address in expected.addresses:
        held = [text.partition("/") for text in address.all]
        shown = [{"family": "inet", "local": local, "prefixlen": int(length)} for local, _, length in held]
        link: Answer = {"ifname": address.port, "flags": ["UP", "LOWER_UP"], "addr_info": shown}
        links.append({**link, "mtu": mtu_of.get(address.port, 65536)})
    return {
        "links": links,
        "ports": {port: {"oper_status": "up", "admin_status": "up", "mtu": str(mtu)} for port, mtu in mtu_of.items()},
        "lldp": {
            neighbor.port: {
                "lldp_rem_sys_name": neighbor.device,
                "lldp_rem_port_id": neighbor.port_names[0],
            }
            for neighbor in expected.neighbors
        },
        "bgp": {
            "default": {
                session.peer: {
                    "remoteAs": session.remote_asn,
                    "bgpState": "Established",
                    "bgpTimerKeepAliveIntervalMsecs": session.keepalive_s * 1000,
                    "bgpTimerHoldTimeMsecs": session.hold_s * 1000,
                    "bgpTimerConfiguredKeepAliveIntervalMsecs": session.keepalive_s * 1000,
                    "bgpTimerConfiguredHoldTimeMsecs": session.hold_s * 1000,
                    "addressFamilyInfo": {"ipv4Unicast": {"acceptedPrefixCounter": 20, "sentPrefixCounter": 40}},
                }
                for session in expected.sessions
            }
        },
        "unapplied": [],
    }


def judged(name: str, shown: Answer) -> Judgment | None:
    """Return what the answer says, None where it is refused."""
    try:
        return FabricJudge(fabric())(name, seen_of(Observed(name, shown)).observation)
    except CommandErrorException:
        return None


def passes(judgment: Judgment | None) -> bool:
    """Tell whether a verification holds without a word of anything unknown."""
    if judgment is None or judgment.lacking:
        return False
    return all(check.ok and not check.skipped for check in judgment.checks)


def others(value: object) -> tuple[object, ...]:
    """Return other values of the same kind; a part with parts of its own decides a check if these do."""
    if isinstance(value, int):
        return value + 1, 0
    return ("x-other", "down") if isinstance(value, str) else ()


def decides(name: str, at: Place, value: object) -> bool:
    if isinstance(value, dict | list):
        return True
    return not all(passes(judged(name, changed(answer(name), at, other))) for other in others(value))


def is_of_the_kernel(at: Place) -> bool:
    """Tell whether the kernel shows the same: a port without a row of APPL_DB has the state of its netdev."""
    return at[0] == "ports" and len(at) < 3


def is_not_looked_at(at: Place) -> bool:
    """Tell whether a link's flags are meant, where APPL_DB tells of the port."""
    return at[0] == "links" and "flags" in at


@pytest.mark.parametrize("name", DEVICES)
def test_the_answer_of_a_switch_that_is_as_intended_passes_with_nothing_unknown(name: str) -> None:
    assert passes(judged(name, answer(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_no_verification_passes_because_a_part_of_the_answer_is_not_there(name: str) -> None:
    silent = []
    looked_at = 0
    for at, value in places(answer(name)):
        if is_of_the_kernel(at) or is_not_looked_at(at) or not decides(name, at, value):
            continue
        looked_at += 1
        silent += [(at, odd) for odd in ODD if odd != value and passes(judged(name, changed(answer(name), at, odd)))]
    assert not silent
    assert looked_at > 40
