"""SONiC's YANG model of PORT limits the speed by release (docs/reference/releases.md). With a faster port in the file
`config reload` fails as a whole."""

from railweave.checks.buffer_facts import tier_path
from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES, nearest
from railweave.units import format_speed
from railweave.wording import listed

RULE = rule(
    "RW118",
    "the release takes the speed of every port",
    __doc__,
    "{nodes: [{nics: {speed: 800G, model: broadcom-thor-ultra, pcie: gen6x16}}], topology:"
    " {leaf: {model: nokia-ixr7220-h6-64, uplink_speed: 1600G}, spine: {model: nokia-ixr7220-h6-64}}}",
)


@RULE.on_fabric
def check_port_speeds(fabric: Fabric) -> Breaches:
    """Yield a breach for each tier with ports that are too fast for the release, in use or not."""
    release = nearest(fabric.policies.sonic.release)
    limit_gbps = RELEASES[release].port_gbps
    for tier in fabric.tiers:
        switches = fabric.tier_switches[tier.level]
        speeds_gbps = {port.speed_gbps for switch in switches for port in switch.panel.ports}
        too_fast = sorted(speed_gbps for speed_gbps in speeds_gbps if speed_gbps > limit_gbps)
        if too_fast:
            message = (
                f"SONiC {release} takes ports of up to {format_speed(limit_gbps)}, and {tier.plural} have ports of"
                f" {listed(map(format_speed, too_fast))}"
            )
            fix = _fix(too_fast[-1])
            yield Breach(tier_path(tier), message, fix, devices=tuple(switch.name for switch in switches))


def _fix(speed_gbps: int) -> str:
    """Return the fix: the first release that takes a speed, or a slower speed."""
    for name, release in RELEASES.items():
        if release.port_gbps >= speed_gbps:
            return f"run SONiC {name} or later (sonic.release)"
    return "choose a slower speed"
