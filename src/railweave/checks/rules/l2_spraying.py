"""Where a switch sends packets of one flow over several paths, they arrive in another order; a NIC that cannot restore
it takes them for lost and sends whole windows again."""

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, SwitchRead, rule

RULE = rule(
    "L-2",
    "packet spraying only towards NICs that handle out-of-order delivery",
    __doc__,
    "ARS_PROFILE|GLOBAL|assign_mode per_packet with NICs that need packets in order",
)


@RULE.on_switch
def check_spraying(switch: SwitchRead) -> Breaches:
    """Yield a breach if a switch sprays packets and any node has NICs that need them in order."""
    spraying_field = _spraying_field(switch)
    if spraying_field is None:
        return
    catalog = load_catalog()
    reordering_nics = tuple(name for name in catalog.nic_ids() if catalog.nic(name).reorders)
    host = next((host for host in switch.fabric.hosts if host.nic_model not in reordering_nics), None)
    if host is not None:
        row, field = spraying_field
        message = (
            f"{switch.name} spreads the packets of one flow ({row}|{field}), and the {host.nic_model} of"
            f" {host.name} takes packets out of order for lost: it sends whole windows again"
        )
        fix = (
            f"set {field} to per_flowlet_quality on {switch.name}, or use NICs that reorder:"
            f" {', '.join(reordering_nics)}"
        )
        yield Breach("", message, fix, devices=(switch.name, host.name))


def _spraying_field(switch: SwitchRead) -> tuple[str, str] | None:
    """Return (row, field) of the first setting that sprays packets, None if there is none; a row is ``TABLE|key``."""
    for table, rows in switch.tables.items():
        # ARS: SONiC's adaptive routing and switching.
        if not table.startswith("ARS_"):
            continue
        for key, fields in rows.items():
            for field, value in fields.items():
                if str(value).startswith("per_packet"):
                    return f"{table}|{key}", field
    return None
