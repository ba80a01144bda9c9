"""A packet to an unknown address is flooded to every port of a VLAN, also up: lossless, it waits on all of them, which
is how RoCE fabrics have stood still (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016)."""

from railweave.checks.registry import LinkBreach, LinkBreaches, LinkEnds, rule

RULE = rule(
    "D-2", "no lossless port is in a flooding domain (VLAN)", __doc__, "VLAN_MEMBER|Vlan100|Ethernet0 on a fabric port"
)


@RULE.on_link
def check_vlans(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each fabric port with a lossless priority that is in a VLAN.

    A sub-interface is routed and floods nothing.
    """
    for end in link.switches:
        if not link.lossless or not end.domains:
            continue
        domains = ", ".join(sorted(end.domains))
        lossless = ", ".join(map(str, sorted(link.lossless)))
        message = (
            f"{end} towards {link.far(end)} is in {domains}, which floods packets to unknown addresses, and priority"
            f" {lossless} is lossless there: PFC may stand still in a ring"
        )
        fix = f"take {end.port} out of {domains}; every link of the fabric is routed"
        yield LinkBreach(end, f"floods {domains}", message, fix)
