"""RDMA either has no losses, because switches pause its senders (PFC), or NICs send lost packets again. A class that is
half of each is protected by neither: where one end pauses, the other has no headroom and drops."""

from collections.abc import Mapping

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole, TrafficClass, Transport
from railweave.intent.model import Intent
from railweave.wording import counted, listed

RULE = rule(
    "RW133",
    "the transport of a class fits its role and PFC",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, transport: roce-lossy, priority: 3, share: 90},"
    " {name: cnp, dscp: [48], priority: 6, strict: true},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def check_transports(intent: Intent) -> Breaches:
    """Yield a breach for each class with a transport that contradicts its role, PFC or code points."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.transport is not None:
            yield from _contradictions(f"traffic_classes[{index}]", traffic_class)


def _contradictions(path: str, traffic_class: TrafficClass) -> Breaches:
    """Yield a breach for the first contradiction between the transport of a class and its role, PFC or code points."""
    name = traffic_class.name
    transport = traffic_class.transport
    if traffic_class.role is not ClassRole.RDMA:
        message = f"class `{name}` has role {traffic_class.role} and transport {transport}: only RDMA has a transport"
        yield Breach(f"{path}.transport", message, "leave out `transport`, or write role: rdma where NICs send RoCE")
    elif traffic_class.lossless and transport is Transport.ROCE_LOSSY:
        message = (
            f"class `{name}` is lossless and has transport roce-lossy: PFC would pause priority"
            f" {traffic_class.priority} on switches and be off on NICs"
        )
        yield Breach(
            f"{path}.transport", message, "write lossless: false for RDMA without PFC, or leave out `transport`"
        )
    elif not traffic_class.lossless and transport is Transport.ROCE_LOSSLESS:
        message = (
            f"class `{name}` has transport roce-lossless and is not lossless: nothing pauses senders of priority"
            f" {traffic_class.priority}"
        )
        yield Breach(
            f"{path}.transport", message, "write lossless: true, or transport: roce-lossy for RDMA without PFC"
        )
    elif traffic_class.is_lossy_rdma and traffic_class.is_default:
        message = (
            f"class `{name}` has transport roce-lossy and takes all code points that no class names: its queue marks,"
            " and drops what is not capable of ECN"
        )
        yield Breach(f"{path}.dscp", message, "write dscp: [26] here and `default` in another class")


@RULE.on_intent
def check_retransmission(intent: Intent) -> Breaches:
    """Yield an info that names the NICs whose vendor publishes no settings for RDMA with losses."""
    classes = intent.policies.classes
    index = next((index for index, traffic_class in enumerate(classes) if traffic_class.is_lossy_rdma), None)
    nodes_of_model = _without_settings(intent)
    if index is None or not nodes_of_model:
        return
    nics = listed(f"{model} ({counted(nodes, 'node')})" for model, nodes in nodes_of_model.items())
    message = (
        f"class `{classes[index].name}` has transport roce-lossy: for {nics} no setting of retransmission is published;"
        " their PFC is turned off, the rest stays as the vendor ships it"
    )
    fix = "ask the vendor how they send lost packets again: with go-back-N, one loss costs a whole window"
    yield Breach(f"traffic_classes[{index}].transport", message, fix, Severity.INFO)


def _without_settings(intent: Intent) -> Mapping[str, int]:
    """Return the NIC models whose pack has no steps for lossy RDMA, with their numbers of nodes."""
    catalog = load_catalog()
    nodes: dict[str, int] = {}
    for entry in intent.nodes:
        model = entry.nics.model
        if not model:
            continue
        vendor = intent.policies.hosts.vendor or catalog.vendor_of(model)
        if vendor is None or not catalog.vendor_pack(vendor).sets_lossy_rdma:
            nodes[model] = nodes.get(model, 0) + entry.count
    return nodes
