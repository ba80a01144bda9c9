"""Where leaf and spine both have faster ports, fewer links, cables and optics carry the same, and a hash spreads
large flows better over fewer, faster paths. By default uplinks run at the speed of the NICs."""

from railweave.catalog.load import load_catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import logical_ports_per_cage, speeds
from railweave.checks.buffer_facts import tier_path
from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.devices import Tier
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES, nearest
from railweave.units import format_speed

RULE = rule(
    "T-11",
    "fabric links run at the fastest speed that both ends have",
    __doc__,
    "topology: {leaf: {model: nvidia-sn5600, uplink_speed: 200G}, spine: {model: nvidia-sn5600}}",
)
# A cage of twice the speed carries two links by one twin-port module: merging them saves no optics.
_SAME_OPTICS = 2


@RULE.on_fabric
def check_uplink_speed(fabric: Fabric) -> Breaches:
    """Yield a breach for each kind of switches whose uplinks could be fewer at a faster speed and carry the same."""
    catalog = load_catalog()
    limit_gbps = RELEASES[nearest(fabric.policies.sonic.release)].port_gbps
    for lower in fabric.uplink_kinds:
        switches = fabric.switches_of(lower)
        if not lower.ports_up or not switches:
            continue
        upper = fabric.tiers[lower.level + 1]
        upper_switch = fabric.tier_switches[upper.level][0]
        models = [catalog.find_switch(switch.panel.model) for switch in (switches[0], upper_switch)]
        ratio = _merge_ratio(lower, [model for model in models if model is not None], limit_gbps)
        if ratio > 1:
            links = sum(len(fabric.uplinks_of[switch.name]) for switch in switches)
            yield _slow_links(lower, upper, links, ratio)


def _slow_links(lower: Tier, upper: Tier, links: int, ratio: int) -> Breach:
    """Return the breach of ``links`` between two tiers, of which ``ratio`` would be one at a faster speed."""
    faster = format_speed(lower.up_gbps * ratio)
    message = (
        f"{links:,} links of {format_speed(lower.up_gbps)} join {lower.titled} and {upper.plural}, where"
        f" {links // ratio:,} of {faster} would carry as much"
    )
    key = f"{tier_path(lower)}.uplink_speed"
    severity = Severity.WARNING
    if ratio == _SAME_OPTICS:
        severity = Severity.INFO
    return Breach(key, message, f"write {key}: {faster}", severity)


def _fastest(models: list[SwitchModel], limit_gbps: int) -> int:
    """Return the fastest speed that all models have, in Gb/s, at most ``limit_gbps``; 0 for none."""
    shared = set.intersection(*({*speeds(model)} for model in models))
    return max((speed_gbps for speed_gbps in shared if speed_gbps <= limit_gbps), default=0)


def _merge_ratio(lower: Tier, models: list[SwitchModel], limit_gbps: int) -> int:
    """Return how many links of a pair of switches become one at the fastest speed of all models; 1 for none."""
    # Without models of the catalog no faster speed is known.
    if not models:
        return 1
    ratio, rest = divmod(_fastest(models, limit_gbps), lower.up_gbps)
    is_multiple = rest == 0 and ratio > 1
    if not is_multiple or lower.links_per_pair % ratio:
        return 1
    if all(_carries_same(model, lower.up_gbps, ratio) for model in models):
        return ratio
    return 1


def _carries_same(model: SwitchModel, speed_gbps: int, ratio: int) -> bool:
    """Tell whether a cage has the same bandwidth with ports of ``ratio`` times the speed."""
    slow_ports = logical_ports_per_cage(model, speed_gbps) or 0
    fast_ports = logical_ports_per_cage(model, speed_gbps * ratio) or 0
    return slow_ports == ratio * fast_ports
