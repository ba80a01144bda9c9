"""Where the switches of a link have two MTUs, larger packets pass one way and are lost the other."""

from railweave.checks.registry import LinkBreach, LinkBreaches, LinkEnds, rule

RULE = rule(
    "M-2", "both ends of a link have the same MTU", __doc__, "PORT|Ethernet0|mtu 9100 on one end, 9000 on the other"
)


@RULE.on_link
def compare_switch_ports(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if the ports of two switches have different MTUs, at the smaller one."""
    lower = link.lower
    upper = link.upper
    # M-1 compares nodes with switches.
    if lower.is_host:
        return
    if lower.mtu_bytes is None or upper.mtu_bytes is None or lower.mtu_bytes == upper.mtu_bytes:
        return
    # The end with the smaller MTU drops packets, so it is the one to report.
    end = lower if lower.mtu_bytes < upper.mtu_bytes else upper
    message = (
        f"{lower} has an MTU of {lower.mtu_bytes} bytes, {upper} of {upper.mtu_bytes}: larger packets are lost one way"
    )
    yield LinkBreach(end, "mtu", message, "set both to mtu.fabric")
