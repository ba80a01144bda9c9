"""Checks of the designed fabric: rules, equal paths, hashes, buffers, overrides and the project's templates."""

from collections.abc import Callable, Iterator

from railweave.checks.buffer_facts import tier_path
from railweave.checks.buffers import buffer_findings
from railweave.checks.hashing import hash_findings
from railweave.checks.registry import FABRIC_CHECKS, rule
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.fabric.model import Fabric
from railweave.routing.instance import MAXIMUM_PATHS
from railweave.sonic.render.frr_text import own_frr_template
from railweave.templates import Templates

rule(
    "B-6",
    "a leaf has no more equal-cost paths than a route supports",
    "Every uplink of a leaf is an equal-cost path; what is above the limit of FRR or of the ASIC carries nothing.",
    "topology: {links_per_pair: 512}",
)
# The ECMP group width of older ASICs, and the safe assumption for one whose limit no source states.
_PATHS_OF_EVERY_ASIC = 64

Places = Callable[[str], Where]
"""Where an intent path stands: ``Intent.where``."""


def check_design(fabric: Fabric, where: Places) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of railweave's own design and configuration: rules, paths, hashes and buffers."""
    diagnostics = [*_check_equal_paths(fabric, where), *hash_findings(fabric, where)]
    for code, check in FABRIC_CHECKS:
        diagnostics += (breach.diagnostic(code, where(breach.path)) for breach in check(fabric))
    return (*diagnostics, *buffer_findings(fabric, where))


def check_own(fabric: Fabric, where: Places, templates: Templates) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of additions by the intent and the project: overrides and templates."""
    own = own_frr_template(templates)
    if not own and not fabric.policies.overrides.rows:
        return ()
    # Late: most intents add nothing, and SONiC's tables and FRR's lines take as long to import as all that is needed
    # to check those.
    from railweave.checks.additions import check_additions

    return tuple(check_additions(fabric, templates, own, where))


def _check_equal_paths(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    # A switch's equal paths are its uplinks: k parallel links to one above are k paths (check B-6).
    for tier in fabric.uplink_kinds:
        limits = {switch.panel.ecmp_limit: switch.panel.asic for switch in fabric.switches_of(tier)}
        candidates = [(limit, f"a route in {asic}") for limit, asic in limits.items() if limit is not None]
        most, whose = min([(MAXIMUM_PATHS, "a route"), *candidates])
        if tier.ports_up > most:
            yield error(
                "B-6",
                f"{tier.titled} have {tier.ports_up} uplinks, more than the {most} equal paths that {whose} can have",
                where(tier_path(tier)),
                fix=f"use fewer, faster uplinks: {tier_path(tier)}.uplink_speed, or fewer topology.links_per_pair",
            )
        elif None in limits and tier.ports_up > _PATHS_OF_EVERY_ASIC:
            yield warning(
                "B-6",
                f"{tier.titled} have {tier.ports_up} uplinks; an ASIC may take only {_PATHS_OF_EVERY_ASIC} members in"
                " one ECMP group",
                where(tier_path(tier)),
                fix=f"look up the ECMP group width of the {tier.name}'s ASIC, or use fewer, faster uplinks",
            )
