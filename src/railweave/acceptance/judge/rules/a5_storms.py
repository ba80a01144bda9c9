"""A-5: no PFC storms, no work for the PFC watchdog, and no NIC whose host is slower than its port."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import CONGESTED, Culprit, Symptom, end_text, port_element
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import CoveredLink, PortEnd
from railweave.diagnostics import Severity

# IEEE 802.1Qbb: a PFC frame pauses for at most 65,535 quanta of 512 bit.
_LONGEST_PAUSE_BITS = 65_535 * 512
_IDLE_SHARE = 0.5
# A NIC that pauses a tenth of a round, and ten times as much as its peers, has another cause than they.
_BUSY_SHARE = 0.1
_BEYOND_PEERS = 10
_STORM_FIX = "find out why it does not take its traffic: host, PCIe, driver; a NIC that hangs pauses for ever"
_SLOW_FIX = (
    "find out why its host takes less than the port's rate: PCIe lanes and speed, IOMMU, memory of another socket"
)


@judge_rule("A-5", "No PFC storms", needs=frozenset({CounterMeaning.PFC_SENT}))
def storms(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of ports whose neighbor stormed, and of NICs that pause without traffic or more than peers."""
    storms_at: Counter[PortEnd] = Counter()
    for tally in case.rounds():
        for end, count in tally.storms.items():
            storms_at[end] += count
        for end, queues in tally.queues.items():
            detected = sum(counts.get(CounterMeaning.STORMS, 0) for counts in queues.values())
            if detected:
                storms_at[end] += detected
    for end, count in storms_at.items():
        yield _storm(case, end, f"{end_text(end)} counted {count} PFC storms")
    yield from _idle_pausers(case)
    yield from _busy_pausers(case)


def _idle_pausers(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each NIC that pauses its switch for most of a round, although no test sends to it."""
    receivers_of_round = {name: {test.receiver for test in tests} for name, tests in case.index.tests_of.items()}
    for name, link, frames in case.nic_counts(CounterMeaning.PFC_SENT):
        receivers = receivers_of_round.get(name, set())
        # A collective has no receiver: all of its NICs receive.
        is_busy = link.nic_port in receivers or None in receivers
        if not is_busy and _paused_share(case, name, link, frames) > _IDLE_SHARE:
            message = f"{end_text(link.lower)} sent {frames:,} PFC frames in round {name}"
            yield _storm(case, link.lower, f"{message}, in which nobody sent to it")


def _busy_pausers(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each NIC that pauses its switch far more than its peers: it cannot take its rate."""
    most_paused: dict[PortEnd, float] = defaultdict(float)
    for name, link, frames in case.nic_counts(CounterMeaning.PFC_SENT):
        most_paused[link.lower] = max(most_paused[link.lower], _paused_share(case, name, link, frames))
    # Peers are NICs of one speed in nodes of one kind.
    shares_of_peers: dict[tuple[str, int], dict[PortEnd, float]] = defaultdict(dict)
    for link in case.index.host_link.values():
        node_kind = case.index.nodes[link.lower.device].kind
        shares_of_peers[node_kind, link.speed_gbps][link.lower] = most_paused[link.lower]
    for peer_shares in shares_of_peers.values():
        usual_share = median(peer_shares.values())
        for end, share in peer_shares.items():
            if share > _BUSY_SHARE and share > _BEYOND_PEERS * usual_share:
                message = f"{end_text(end)} paused its switch up to {share:.0%} of a round, its peers {usual_share:.0%}"
                # Not a storm: it takes what arrives, as fast as its host can.
                yield _at_end(case, end, "is slower than its port", message, _SLOW_FIX)


def _paused_share(case: Case, name: str, link: CoveredLink, frames: int) -> float:
    """Return the largest share of a round for which ``frames`` PFC frames of a NIC can have paused its switch."""
    return min(1.0, frames * _LONGEST_PAUSE_BITS / (link.speed_gbps * 1e9 * case.index.rounds[name].seconds))


def _storm(case: Case, end: PortEnd, message: str) -> Symptom:
    return _at_end(case, end, "storms", message, _STORM_FIX)


def _at_end(case: Case, end: PortEnd, fault: str, message: str, fix: str) -> Symptom:
    """Return a symptom of the NIC at a port, or of the port itself if it is a switch port that its neighbor pauses."""
    link = case.index.link_at.get(end)
    if link is not None and link.nic_port is not None:
        element = case.index.nic(link.nic_port)
        culprit = Culprit((element,), fault, fix, nodes=(link.nic_port.node,), slows=CONGESTED)
    else:
        culprit = Culprit((port_element(end),), "is stormed", fix, devices=(end.device,), slows=CONGESTED)
    return Symptom("A-5", Severity.ERROR, message, fix, culprit)
