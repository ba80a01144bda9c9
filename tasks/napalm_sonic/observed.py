"""NAPALM's getters from one answer of the switch's program: one command in place of five."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.decoding import decodes
from napalm_sonic.getters_interfaces import addresses_of, counters_of, interfaces_of, network_links, network_ports
from napalm_sonic.getters_neighbors import bgp_of, lldp_of
from railweave_switch.daemons import Unapplied

_TIMERS = {
    "keepalive": "bgpTimerKeepAliveIntervalMsecs",
    "hold": "bgpTimerHoldTimeMsecs",
    "configured_keepalive": "bgpTimerConfiguredKeepAliveIntervalMsecs",
    "configured_hold": "bgpTimerConfiguredHoldTimeMsecs",
}
# What bfdd shows of a neighbor: its multiplier, our interval for receiving and its interval for sending.
_MULTIPLIER = "remote-detect-multiplier"
_RECEIVE = "receive-interval"
_TRANSMIT = "remote-transmit-interval"


@dataclass(frozen=True, slots=True)
class Counted:
    """NAPALM's counters of every port at one moment, in seconds of the switch's steady clock."""

    at_s: float
    ports: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations of a switch; the methods return the same as the driver's getters of these names.

    ``counted`` are its counters, the earlier ones first, empty if they were not requested. ``waiting`` is the pending
    transaction and ``broken`` the daemons that a change ended, both in words, and only in the answer to an observation
    alone.
    """

    hostname: str
    shown: Mapping[str, Any]
    counted: tuple[Counted, ...] = ()
    waiting: str = ""
    broken: str = ""
    # With it the switch does not send unchanged observations again; only answers to monitoring have one.
    digest: str = ""

    @property
    def is_whole(self) -> bool:
        """Return True: the switch's program reads everything, so values that are missing here are missing there."""
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
        """Return LLDP's values of each neighbor."""
        return lldp_of(self.shown["lldp"])

    @decodes("what its daemons apply")
    def unapplied(self) -> tuple[Unapplied, ...] | None:
        """Return the values of SONiC's daemons that differ from CONFIG_DB; None if they are unknown."""
        return unapplied_of(self.shown)

    def unseen(self) -> tuple[str, ...]:
        """Return the fields of ports (``speed``, ``fec``) whose actual value is unknown on every port that is up."""
        return unseen_of(self.shown)

    @decodes("its image")
    def image(self) -> dict[str, str]:
        """Return the release of the image: ``release``, ``branch``, ``build_version``."""
        return image_of(self.shown)

    @decodes("what BGP shows")
    def get_bgp_neighbors(self) -> dict[str, dict[str, Any]]:
        """Return the BGP neighbors; raises CommandErrorException if bgpd does not answer."""
        if self.shown["bgp"] is None:
            raise CommandErrorException(f"{self.hostname}: bgpd does not answer")
        return bgp_of(self.shown["bgp"])

    @decodes("the timers that BGP shows")
    def bgp_timers(self) -> dict[str, dict[str, int]]:
        """Return the timers of the default VRF's sessions in seconds, by the neighbor's name in BGP.

        ``keepalive`` and ``hold`` are those in force, ``configured_keepalive`` and ``configured_hold`` the configured
        ones. Sessions whose timers FRR does not show are left out.
        """
        timers = {}
        for name, peer in self._default_peers().items():
            if isinstance(peer, Mapping) and all(key in peer for key in _TIMERS.values()):
                # FRR shows milliseconds.
                timers[name] = {timer: int(peer[key]) // 1000 for timer, key in _TIMERS.items()}
        return timers

    @decodes("what BFD shows")
    def bfd(self) -> dict[str, str]:
        """Return the BFD state of the default VRF's sessions that use BFD, in lower case, by the neighbor's name."""
        states = {}
        for name, peer in self._default_peers().items():
            if isinstance(peer, Mapping) and "peerBfdInfo" in peer:
                states[name] = str(peer["peerBfdInfo"].get("status", "down")).lower()
        return states

    def _default_peers(self) -> Mapping[str, Any]:
        """Return the default VRF in FRR's JSON: its neighbors by name, and a few values of its own."""
        instances: Mapping[str, Any] = self.shown["bgp"] or {}
        peers: Mapping[str, Any] = instances.get("default", {})
        return peers

    @decodes("the timers that BFD shows")
    def bfd_detection_ms(self) -> dict[str, int]:
        """Return BFD's detection time in milliseconds for each neighbor of the default VRF that is up.

        The keys are the neighbors' names in BGP. Neighbors whose timers bfdd does not show are left out. The time is
        the neighbor's multiplier times the longer of our receive and its transmit interval (RFC 5880 section 6.8.4).
        """
        times: dict[str, int] = {}
        for peer in self.shown.get("bfd") or ():
            is_up = peer.get("status") == "up" and peer.get("vrf", "default") == "default"
            if not is_up or not all(key in peer for key in (_MULTIPLIER, _RECEIVE, _TRANSMIT)):
                continue
            detection_ms = int(peer[_MULTIPLIER]) * max(int(peer[_RECEIVE]), int(peer[_TRANSMIT]))
            times[str(peer["peer"])] = detection_ms
            # BGP names an unnumbered neighbor by its interface.
            times[str(peer.get("interface", ""))] = detection_ms
        return times


@decodes("what its daemons apply")
def unapplied_of(shown: Mapping[str, Any]) -> tuple[Unapplied, ...] | None:
    """Return the values of daemons that differ from CONFIG_DB, from an answer; None if they are unknown."""
    differences = shown.get("unapplied")
    if differences is None:
        return None
    if not isinstance(differences, list | tuple):
        raise TypeError("what daemons apply is not a list")
    return tuple((row, field, applied, configured) for row, field, applied, configured in differences)


@decodes("what its ports tell")
def unseen_of(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of ports whose actual value is unknown, from an answer."""
    fields = shown.get("unseen", ())
    if not isinstance(fields, list | tuple):
        raise TypeError("the fields that no port tells are not a list")
    return tuple(map(str, fields))


@decodes("its image")
def image_of(shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the release of the image, from an answer."""
    return {str(name): str(text) for name, text in shown.get("image", {}).items()}


@decodes("what it shows")
def observed_of(hostname: str, answer: Mapping[str, Any], last: Observed | None = None) -> Observed | None:
    """Return the observations in an answer, None if it has none.

    If the answer says that nothing has changed since the ``last`` observations, these are returned. Raises
    CommandErrorException if the answer cannot be read.
    """
    if "observed" not in answer and "counters" not in answer:
        return None
    shown = answer.get("observed", {})
    digest = str(shown.get("digest", ""))
    # In place of unchanged observations the switch sends only their digest.
    is_unchanged = len(shown) == 1 and digest != ""
    if is_unchanged:
        if last is None or last.digest != digest:
            raise CommandErrorException(
                f"{hostname}: its answer leaves out its state, which is not as it was seen last"
            )
        return last
    samples = [Counted(float(sample["at_s"]), counters_of(sample["ports"])) for sample in answer.get("counters", ())]
    return Observed(hostname, shown, tuple(samples), digest=digest)
