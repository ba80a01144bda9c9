"""A link comes up where both ends have one speed over the lanes for which its cable was chosen."""

from typing import TYPE_CHECKING

from railweave.checks.registry import LinkBreach, LinkBreaches, LinkEnds, rule, unlike
from railweave.units import format_speed

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
RULE = rule(
    "P-3",
    "both ends of a link have the designed speed, and a medium that links their lane rates",
    __doc__,
    "PORT|Ethernet0|speed 400000 on one end, 200000 on the other",
)


@RULE.on_link
def compare_speeds(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if the ends of a link have different speeds."""
    yield from unlike(link, "speed", _speed(link.lower), _speed(link.upper))


def _speed(end: "PortSettings") -> str | None:
    """Return the speed in words, None if it was not read."""
    if not end.speed_gbps:
        return None
    return f"{end.speed_gbps}G"


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if both ends have another speed than designed, and for each end that cannot negotiate that one."""
    lower = link.lower
    upper = link.upper
    designed = format_speed(link.speed_gbps)
    if lower.speed_gbps is not None and lower.speed_gbps == upper.speed_gbps != link.speed_gbps:
        message = f"{lower} and {upper} both have speed {lower.speed_gbps}G; the link is designed for {designed}"
        yield LinkBreach(upper, "speed of both", message, f"set the speed of both ends to {designed}")
    for end in link.switches:
        advertised = end.advertised_gbps
        if end.autoneg == "on" and advertised and link.speed_gbps not in advertised:
            speeds = ", ".join(f"{speed}G" for speed in sorted(advertised))
            message = f"{end} advertises {speeds} to {link.far(end)}; the link is designed for {designed}"
            fix = f"add {link.speed_gbps * 1000} to PORT|{end.port}|adv_speeds of {end.device}, or take the field out"
            yield LinkBreach(end, "advertised speeds", message, fix)


@RULE.on_link
def check_missing_ports(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each end of a link at a port that the switch does not have."""
    for end in link.switches:
        if end.is_missing:
            message = f"{end.device} has no port {end.port}, which a cable leads to from {link.far(end)}"
            yield LinkBreach(end, "missing", message, "break it out as BREAKOUT_CFG of the rendered configuration says")


@RULE.on_link
def check_shut_ports(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each end of a link at a port that is shut down, if it is not by design."""
    for end in link.switches:
        if end.is_shut and not link.design(end).is_shut:
            message = f"{end} towards {link.far(end)} is shut down (admin_status)"
            yield LinkBreach(end, "shut", message, f"sudo config interface startup {end.port}")


@RULE.on_link
def compare_lanes(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each port with another number of lanes than its breakout has."""
    for end in link.switches:
        if end.lanes is not None and end.lanes_intended is not None and end.lanes != end.lanes_intended:
            message = (
                f"{end} runs over {end.lanes} lanes; the cable ({link.media}) to {link.far(end)} was chosen for"
                f" {end.lanes_intended} at {format_speed(link.speed_gbps)}"
            )
            fix = f"break {end.port} out as BREAKOUT_CFG of the rendered configuration says"
            yield LinkBreach(end, "lanes", message, fix)
