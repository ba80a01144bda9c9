"""Flowlets and packet spraying need adaptive routing of the switches (ARS), which the releases of the community lack: a
row for it would be refused, or taken by nobody."""

from collections.abc import Iterator

from railweave.catalog.balancing import balancing_methods
from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.policy import LoadBalancing
from railweave.intent.model import Intent
from railweave.wording import listed

RULE = rule(
    "RW134", "a community release has the load balancing that the intent asks for", __doc__, "load_balancing: flowlet"
)


@RULE.on_intent
def check_load_balancing(intent: Intent) -> Breaches:
    """Yield a breach if the intent asks for load balancing that no release has."""
    asked = intent.policies.load_balancing
    if asked is LoadBalancing.HASH:
        return
    method = balancing_methods()[asked.value]
    message = f"`{asked}` cannot be had: {method.missing}"
    if asked is LoadBalancing.PACKET:
        ordered = sorted(_nics_in_order(intent))
        if ordered:
            message += f"; {listed(ordered)} would also take packets out of order for lost (check L-2)"
    fix = (
        "leave out load_balancing, or write load_balancing: hash; more queue pairs flatten a hash:"
        " hosts.qps_per_connection (check L-3)"
    )
    yield Breach("load_balancing", message, fix)


def _nics_in_order(intent: Intent) -> Iterator[str]:
    """Yield the NIC models that need packets in order."""
    catalog = load_catalog()
    for model in {entry.nics.model for entry in intent.nodes}:
        if model is not None and model in catalog.nic_ids() and not catalog.nic(model).reorders:
            yield model
