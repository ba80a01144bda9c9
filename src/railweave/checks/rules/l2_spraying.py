"""Where a switch sends packets of one flow over several paths, they arrive in another order; a NIC that cannot restore
it takes them for lost and sends whole windows again (fabric-facts section 7)."""

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, SwitchRead, rule

RULE = rule(
    "L-2",
    "packet spraying only towards NICs that handle out-of-order delivery",
    __doc__,
    "ARS_PROFILE|GLOBAL|assign_mode per_packet with NICs that need packets in order",
)


@RULE.on_switch
def spraying(switch: SwitchRead) -> Breaches:
    """Look for switches that spray, and for NICs that need packets in order."""
    rows = [
        (table, key, field)
        for table, held in switch.tables.items()
        if table.startswith("ARS_")
        for key, fields in held.items()
        for field, value in fields.items()
        if str(value).startswith("per_packet")
    ]
    catalog = load_catalog()
    able = tuple(name for name in catalog.nic_ids() if catalog.nic(name).reorders) if rows else ()
    host = next((host for host in switch.fabric.hosts if rows and host.nic_model not in able), None)
    if host is not None:
        table, key, field = rows[0]
        message = (
            f"{switch.name} spreads the packets of one flow ({table}|{key}|{field}), and the {host.nic_model} of"
            f" {host.name} takes packets out of order for lost: it sends whole windows again"
        )
        fix = f"set {field} to per_flowlet_quality on {switch.name}, or use NICs that reorder: {', '.join(able)}"
        yield Breach("", message, fix, devices=(switch.name, host.name))
