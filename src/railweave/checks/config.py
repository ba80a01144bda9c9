"""Checks of the designed fabric: rules, equal paths, hashes, buffers, overrides and the project's templates."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

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
    """Yield B-6 for each kind of switches with too many equal paths, up over its uplinks or down to the tier below."""
    for kind in fabric.uplink_kinds:
        limit = _path_limit(fabric, kind)
        # Up, every uplink is an equal path: k parallel links to one switch are k paths.
        yield from _check_uplinks(fabric, kind, limit, where)
        paths = paths_down(fabric, kind)
        if paths > limit.paths:
            yield error(
                "B-6",
                f"{kind.plural} have {paths} equal paths to a {fabric.tiers[kind.level - 1].name}, more than the"
                f" {limit.paths} that {limit.owner} can have",
                where(tier_path(kind)),
                fix=f"use more {kind.plural}, or fewer, faster links to each",
            )


class _PathLimit(NamedTuple):
    """The most equal paths of a route, and whose limit that is: FRR's or an ASIC's."""

    paths: int
    owner: str


def _check_uplinks(fabric: Fabric, kind: Tier, limit: _PathLimit, where: Places) -> Iterator[Diagnostic]:
    """Yield B-6 if a kind of switches has more uplinks than a route can use, or may have where nothing states that."""
    place = where(tier_path(kind))
    unstated_asics = _unstated_asics(fabric, kind)
    if kind.ports_up > limit.paths:
        fix = f"use fewer, faster uplinks: {tier_path(kind)}.uplink_speed, or fewer topology.links_per_pair"
        # A newer release helps only where FRR is the limit, not the ASIC.
        if limit.paths == path_limit(fabric):
            fix = f"{_release_with(kind.ports_up)}{fix}"
        yield error(
            "B-6",
            f"{kind.titled} have {kind.ports_up} uplinks, more than the {limit.paths} equal paths that {limit.owner}"
            " can have",
            place,
            fix=fix,
        )
    elif kind.ports_up > _PATHS_OF_EVERY_ASIC and unstated_asics:
        yield warning(
            "B-6",
            f"{kind.titled} have {kind.ports_up} uplinks; nothing states how many members an ECMP group of"
            f" {listed(unstated_asics)} takes, which may be only {_PATHS_OF_EVERY_ASIC}",
            place,
            fix="ask the vendor (SAI_NUM_ECMP_MEMBERS in the sai.profile of Broadcom switches, where it is"
            f" {_PATHS_OF_EVERY_ASIC} unless set), or use fewer, faster uplinks",
        )


def _path_limit(fabric: Fabric, kind: Tier) -> _PathLimit:
    """Return the lowest limit on the equal paths of a route on a kind of switches."""
    limits = {_PathLimit(path_limit(fabric), f"a route in FRR of SONiC {fabric.policies.sonic.release}")}
    for switch in fabric.switches_of(kind):
        if switch.panel.ecmp_limit is not None:
            limits.add(_PathLimit(switch.panel.ecmp_limit, f"a route in {switch.panel.asic}"))
    return min(limits)


def _unstated_asics(fabric: Fabric, kind: Tier) -> list[str]:
    """Return the ASICs of a kind of switches for which no source states the width of an ECMP group."""
    asics = {switch.panel.asic for switch in fabric.switches_of(kind) if switch.panel.ecmp_limit is None}
    return sorted(asics)


def _release_with(paths: int) -> str:
    """Return the beginning of a fix: the first release whose FRR takes so many equal paths; empty if none does."""
    for name, release in RELEASES.items():
        if release.equal_paths >= paths:
            return f"use sonic.release {name} or later, whose FRR takes {release.equal_paths}; or "
    return ""
