"""What the FRR of each SONiC release prints for a file of ours beside foreign lines gives no difference.

Recorded on FRR built from upstream's tags with the patches of each branch (sonic-buildimage src/sonic-frr/patch; 202305
and 202311 build the same version): ``conf`` was loaded with ``vtysh -f`` on a switch with a management VRF and another
one, ``shown`` is its ``show running-config``.
"""

import re
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.releases import RELEASES, SonicRelease
from railweave.intent.load import load_intent_text
from railweave.sonic.frr import FrrDocument, frr_difference, parse_frr
from railweave.sonic.frr.ownership import FrrScope
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

FOLDER = Path(__file__).parent / "frr_releases"
NAMES = sorted(path.stem for path in FOLDER.glob("*.conf"))


def read(name: str, kind: str) -> str:
    return (FOLDER / f"{name}.{kind}").read_text(encoding="utf-8")


def ours(name: str) -> FrrDocument:
    """Return our part of a file: the foreign lines stand behind it."""
    return parse_frr(read(name, "conf").partition("zebra nexthop-group keep 1\n")[0])


def test_every_version_is_recorded() -> None:
    versions = {parse_frr(read(name, "shown")).version for name in NAMES}
    assert versions == {one.frr for one in RELEASES.values()}
    assert len(NAMES) == 2 * len(versions)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_release_prints_is_what_was_written(name: str) -> None:
    shown, written = parse_frr(read(name, "shown")), parse_frr(read(name, "conf"))
    assert frr_difference(shown, written) == ((), ())


@pytest.mark.parametrize("name", NAMES)
def test_what_a_release_prints_gives_an_empty_delta_and_foreign_lines_stay(name: str) -> None:
    shown, intended = parse_frr(read(name, "shown")), ours(name)
    scope = FrrScope(shown, intended)
    assert frr_difference(shown, scope.beside(intended)) == ((), ())
    assert {one.line for one in scope.unmanaged} >= {
        "zebra nexthop-group keep 1",
        "ip route 192.0.2.0/24 10.9.9.9",
        "ip route 0.0.0.0/0 192.0.2.1",
        "neighbor 192.0.2.10 remote-as 65010",
        "bgp listen range 192.0.2.128/25 peer-group FIREWALL",
        "route-map OPERATOR permit 10",
        "router bgp 65009 vrf Vrf-storage",
    }
    assert len(scope.unmanaged) + len(intended.entries) >= len(shown.entries)


@pytest.mark.parametrize("name", NAMES)
def test_the_tracking_lines_are_printed_where_the_table_says(name: str) -> None:
    release = RELEASES[name.partition("-")[0]]
    in_vrf = read(name, "shown").partition("vrf mgmt\n")[2].partition("exit-vrf")[0]
    assert ("ipv6 nht resolve-via-default" in in_vrf) == release.prints_tracking


def printed(text: str, release: SonicRelease) -> str:
    """Return an unnumbered file as the release's bgpd and zebra print it, by their source.

    SONiC 202511 reverts the capability that FRR 10.4.1 gives to unnumbered neighbors, 202605 has a version where it is
    reverted; both still print a line of every such neighbor that lacks it (FRR, bgpd/bgp_vty.c,
    bgp_config_write_peer_global; SONiC's patch 0084 in 202511).
    """
    if release.frr.startswith(("10.4", "10.5")):
        text = re.sub(r"( neighbor (\S+) interface .*\n)", r"\1 no neighbor \2 capability link-local\n", text)
    tracking = "ip nht resolve-via-default\nipv6 nht resolve-via-default\n" if release.prints_tracking else ""
    body = text.removesuffix("end\n")
    return f"frr version {release.frr}\n{body}{tracking}end\n"


@pytest.mark.parametrize("switch", ["lab-leaf1", "lab-spine1"])
@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_prints_of_unnumbered_neighbors_gives_an_empty_delta(release: str, switch: str) -> None:
    intent = (Path(__file__).parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    intent += f"addressing: {{underlay: unnumbered}}\nsonic: {{release: {release}}}\n"
    fabric = design(load_intent_text(intent, "unnumbered.yml"), load_catalog()).fabric
    assert fabric is not None
    text = configure(fabric, fabric.switch_of[switch], find_templates()).frr
    shown = printed(text, RELEASES[release])
    assert ("capability link-local" in shown) == (release >= "202511")
    assert frr_difference(parse_frr(shown), parse_frr(text)) == ((), ())


@pytest.mark.parametrize("name", NAMES)
def test_tsa_finds_the_outbound_route_map_of_every_peer_group_and_room_for_its_entries(name: str) -> None:
    """By the lines of TS: ``sed -ne 's/  neighbor \\S* route-map \\(\\S*\\) out/\\1/p' | egrep 'V4|V6' | uniq``."""
    shown = read(name, "shown")
    bound = re.findall(r"  neighbor (\S*) route-map (\S*) out\n", shown)
    groups = re.findall(r"^ neighbor ((?:SUPER-)?SPINES|LEAVES) peer-group$", shown, re.MULTILINE)
    assert groups
    for group in groups:
        (found,) = (route_map for peer, route_map in bound if peer == group)
        assert "V4" in found
        assert not re.search("_INTERNAL_|VOQ_", found)
        assert f"\nroute-map {found} " in shown
        for entry in ("permit 20", "permit 30", "deny 40"):
            assert f"\nroute-map {found} {entry}\n" not in shown
    assert "\nip prefix-list PL_LoopbackV4 seq " in shown
