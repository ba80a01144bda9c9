"""Checks of the designed fabric: rules, equal paths, hashes, buffers, overrides and the project's templates."""

from collections.abc import Callable, Iterator

from railweave.checks.buffer_facts import tier_path
from railweave.checks.buffers import buffer_findings
from railweave.checks.hashing import hash_findings
from railweave.checks.registry import FABRIC_CHECKS, rule
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.fabric.devices import Tier
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES
from railweave.routing.paths import path_limit, paths_down
from railweave.sonic.render.frr_text import own_frr_template
from railweave.templates import Templates
from railweave.wording import listed

rule(
    "B-6",
    "a leaf has no more equal-cost paths than a route supports",
    "Every uplink of a leaf is an equal-cost path; what is above the limit of FRR or of the ASIC carries nothing.",
    "topology: {links_per_pair: 512}",
)
# The ECMP group width of older ASICs, and of Broadcom's SAI by default (sonic-buildimage pull request 22221): the
# assumption where no source states a limit.
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
    for kind in fabric.uplink_kinds:
        # A switch's equal paths are its uplinks: k parallel links to one above are k paths (check B-6).
        yield from _check_uplinks(fabric, kind, where)
        paths = paths_down(fabric, kind)
        most, whose = _most_paths(fabric, kind)
        if paths > most:
            yield error(
                "B-6",
                f"{kind.plural} have {paths} equal paths to a {fabric.tiers[kind.level - 1].name}, more than the {most}"
                f" that {whose} can have",
                where(tier_path(kind)),
                fix=f"use more {kind.plural}, or fewer, faster links to each",
            )


def _check_uplinks(fabric: Fabric, kind: Tier, where: Places) -> Iterator[Diagnostic]:
    most, whose = _most_paths(fabric, kind)
    place = where(tier_path(kind))
    fewer = "fewer, faster uplinks"
    if kind.ports_up > most:
        newer = _release_with(kind.ports_up) if most == path_limit(fabric) else ""
        yield error(
            "B-6",
            f"{kind.titled} have {kind.ports_up} uplinks, more than the {most} equal paths that {whose} can have",
            place,
            fix=f"{newer}use {fewer}: {tier_path(kind)}.uplink_speed, or fewer topology.links_per_pair",
        )
    elif kind.ports_up > _PATHS_OF_EVERY_ASIC and _unstated_asics(fabric, kind):
        yield warning(
            "B-6",
            f"{kind.titled} have {kind.ports_up} uplinks; nothing states how many members an ECMP group of"
            f" {listed(_unstated_asics(fabric, kind))} takes, which may be only {_PATHS_OF_EVERY_ASIC}",
            place,
            fix="ask the vendor (SAI_NUM_ECMP_MEMBERS in the sai.profile of Broadcom switches, where it is"
            f" {_PATHS_OF_EVERY_ASIC} unless set), or use {fewer}",
        )


def _most_paths(fabric: Fabric, kind: Tier) -> tuple[int, str]:
    """Return the most equal paths of a route of a kind of switches, and what limits them."""
    limits = [(path_limit(fabric), f"a route in FRR of SONiC {fabric.policies.sonic.release}")]
    stated = {(panel.ecmp_limit, panel.asic) for panel in (switch.panel for switch in fabric.switches_of(kind))}
    limits += [(limit, f"a route in {asic}") for limit, asic in stated if limit is not None]
    return min(limits)


def _unstated_asics(fabric: Fabric, kind: Tier) -> list[str]:
    """Return the ASICs of a kind of switches for which no source states the width of an ECMP group."""
    asics = {switch.panel.asic for switch in fabric.switches_of(kind) if switch.panel.ecmp_limit is None}
    return sorted(asics)


def _release_with(paths: int) -> str:
    """Return the fix by the first release whose FRR takes so many equal paths; empty where none does."""
    for name, release in RELEASES.items():
        if release.equal_paths >= paths:
            return f"use sonic.release {name} or later, whose FRR takes {release.equal_paths}; or "
    return ""
