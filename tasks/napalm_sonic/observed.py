"""One answer of the switch's program through the eyes of NAPALM's getters: one command in the place of five."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.decoding import decodes
from napalm_sonic.getters_interfaces import addresses_of, counters_of, interfaces_of, network_links, network_ports
from napalm_sonic.getters_neighbors import bgp_of, lldp_of
from railweave_switch.daemons import Unapplied


@dataclass(frozen=True, slots=True)
class Look:
    """What an answer of the switch is to show beside itself.

    ``state`` is what interfaces, addresses, LLDP and BGP show; ``counters`` are those of the ports, read twice where
    ``over_s`` is not 0, so many seconds apart.
    """

    state: bool = True
    counters: bool = False
    over_s: float = 0.0

    @property
    def words(self) -> list[str]:
        """Return the options of the switch's program."""
        words = ["--observe"] if self.state else []
        if self.counters:
            words += ["--counters", *(["--over", f"{self.over_s:g}"] if self.over_s else [])]
        return words


STATE = Look()
_TIMERS = {
    "keepalive": "bgpTimerKeepAliveIntervalMsecs",
    "hold": "bgpTimerHoldTimeMsecs",
    "configured_keepalive": "bgpTimerConfiguredKeepAliveIntervalMsecs",
    "configured_hold": "bgpTimerConfiguredHoldTimeMsecs",
}
_BFD = ("remote-detect-multiplier", "receive-interval", "remote-transmit-interval")


@dataclass(frozen=True, slots=True)
class Counted:
    """NAPALM's counters of every port at one moment, in seconds of the switch's steady clock."""

    at_s: float
    ports: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Observed:
    """What a switch showed; the methods return what the driver's getters of the same names do.

    ``counted`` are its counters, the earlier ones first, empty where they were not asked for. ``waiting`` is the
    transaction that waits for its confirmation or revert, and ``broken`` tells which daemons a change ended, both in
    words and where the answer was to nothing else.
    """

    hostname: str
    shown: Mapping[str, Any]
    counted: tuple[Counted, ...] = ()
    waiting: str = ""
    broken: str = ""

    @property
    def is_whole(self) -> bool:
        """Return that the switch's own program answered: what is missing here is missing on the switch."""
        return True

    @decodes("its interfaces")
    def get_interfaces(self) -> dict[str, dict[str, Any]]:
        """Return the state of every interface."""
        return interfaces_of(network_links(self.shown["links"]), network_ports(self.shown["ports"]))

    @decodes("its addresses")
    def get_interfaces_ip(self) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return the addresses of the interfaces."""
        return addresses_of(network_links(self.shown["links"]))

    @decodes("what LLDP shows")
    def get_lldp_neighbors_detail(self) -> dict[str, list[dict[str, Any]]]:
        """Return what LLDP knows of each neighbor."""
        return lldp_of(self.shown["lldp"])

    @decodes("what its daemons apply")
    def unapplied(self) -> tuple[Unapplied, ...] | None:
        """Return what SONiC's daemons apply that differs from CONFIG_DB; None where that is not known."""
        return unapplied_of(self.shown)

    def unseen(self) -> tuple[str, ...]:
        """Return the fields of ports (``speed``, ``fec``) of which no port that is up tells what is in force."""
        return unseen_of(self.shown)

    @decodes("its image")
    def image(self) -> dict[str, str]:
        """Return what its image says of the release that it is: ``release``, ``branch``, ``build_version``."""
        return image_of(self.shown)

    @decodes("what BGP shows")
    def get_bgp_neighbors(self) -> dict[str, dict[str, Any]]:
        """Return the BGP neighbors; raises CommandErrorException where bgpd is silent."""
        if self.shown["bgp"] is None:
            raise CommandErrorException(f"{self.hostname}: bgpd does not answer")
        return bgp_of(self.shown["bgp"])

    @decodes("the timers that BGP shows")
    def bgp_timers(self) -> dict[str, dict[str, int]]:
        """Return the timers of the sessions of the default VRF in seconds: ``keepalive`` and ``hold`` in force, and
        ``configured_keepalive`` and ``configured_hold``; nothing of a session of which FRR does not show them."""
        peers = (self.shown["bgp"] or {}).get("default", {})
        return {
            name: {word: int(one[shown]) // 1000 for word, shown in _TIMERS.items()}
            for name, one in peers.items()
            if isinstance(one, Mapping) and all(shown in one for shown in _TIMERS.values())
        }

    @decodes("what BFD shows")
    def bfd(self) -> dict[str, str]:
        """Return the state of BFD of the sessions of the default VRF that have it, as FRR names it in lower case."""
        peers = (self.shown["bgp"] or {}).get("default", {})
        return {
            name: str(one["peerBfdInfo"].get("status", "down")).lower()
            for name, one in peers.items()
            if isinstance(one, Mapping) and "peerBfdInfo" in one
        }

    @decodes("the timers that BFD shows")
    def bfd_detection_ms(self) -> dict[str, int]:
        """Return after how many milliseconds of silence BFD takes each neighbor of the default VRF for dead, by its
        name in BGP; nothing of one that is not up, or of which bfdd does not show the timers of both ends.

        The time is the far end's multiplier times the longer of our receiving and its sending interval (RFC 5880
        section 6.8.4)."""
        found: dict[str, int] = {}
        for one in self.shown.get("bfd") or ():
            is_up = one.get("status") == "up" and one.get("vrf", "default") == "default"
            if is_up and all(word in one for word in _BFD):
                multiplier, ours, theirs = (int(one[word]) for word in _BFD)
                names = {str(one["peer"]), str(one.get("interface", ""))}
                found |= dict.fromkeys(names, multiplier * max(ours, theirs))
        return found


@decodes("what its daemons apply")
def unapplied_of(shown: Mapping[str, Any]) -> tuple[Unapplied, ...] | None:
    """Return what an answer says that daemons apply that differs from CONFIG_DB; None where it does not know."""
    found = shown.get("unapplied")
    if found is None:
        return None
    if not isinstance(found, list | tuple):
        raise TypeError("what daemons apply is no list")
    return tuple((row, field, applied, told) for row, field, applied, told in found)


@decodes("what its ports tell")
def unseen_of(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of ports of which an answer says that no port tells what is in force."""
    found = shown.get("unseen", ())
    if not isinstance(found, list | tuple):
        raise TypeError("the fields that no port tells are no list")
    return tuple(map(str, found))


@decodes("its image")
def image_of(shown: Mapping[str, Any]) -> dict[str, str]:
    """Return what an answer says of the image."""
    return {str(name): str(text) for name, text in shown.get("image", {}).items()}


@decodes("what it shows")
def observed_of(hostname: str, answer: Mapping[str, Any]) -> Observed | None:
    """Return what an answer shows beside itself; None where that is nothing."""
    if "observed" not in answer and "counters" not in answer:
        return None
    counted = (Counted(float(one["at_s"]), counters_of(one["ports"])) for one in answer.get("counters", ()))
    return Observed(hostname, answer.get("observed", {}), tuple(counted))
