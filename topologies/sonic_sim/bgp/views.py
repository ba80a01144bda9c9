"""What FRR shows: ``show running-config`` and the state of BGP and routes."""

import re
from typing import Any

from sonic_sim.bgp.paths import bgp_prefix
from sonic_sim.bgp.state import JSON_VIEWS, TEXT_VIEWS
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.frr.filters import filters_shown


def view(device: Device, command: str) -> str | None:
    """Return the text of a show command, or None where FRR does not know it."""
    if re.match(r"^show run(ning-config)?( no-header)?$", command):
        return device.frr.show() if "no-header" not in command else device.frr.text()
    frr, kernel = device.frr, device.image().kernel
    fixed = {
        "show version": f"FRRouting {frr.build.version} ({device.hostname}) on Linux({kernel}).\n",
        "show daemons": f" {' '.join((*frr.daemons, *(('bfdd',) if device.bfdd else ())))}\n",
    }
    if command in fixed:
        return fixed[command]
    names = [name.removesuffix("d").upper() for name in frr.daemons if name in ("zebra", "bgpd")]
    filters = filters_shown(frr.root, frr.build, names, command)
    if filters is not None:
        return filters
    plain = re.sub(r"^show ip bgp", "show bgp", re.sub(r" vrf (all|default)", "", command))
    plain = plain.replace("show bgp ipv4 unicast", "show bgp").replace("show bgp ipv4", "show bgp")
    every_vrf = " vrf all" in command
    text = TEXT_VIEWS.get(plain)
    if text is None and plain.endswith(" json"):
        shown = _json_view(device, plain.removesuffix(" json"), every_vrf)
        if shown is None:
            return None
        if plain == "show bgp summary json" and " ipv4" in command and not every_vrf:
            # asked for one address family, FRR leaves out the level of families (seen on 8.4)
            shown = shown.get("ipv4Unicast", {})
        return to_json(shown, step="  ") + "\n"
    return None if text is None else text(device)


def _json_view(device: Device, command: str, every_vrf: bool) -> dict[str, Any] | None:
    found = JSON_VIEWS.get(command)
    if found is not None:
        return found(device, every_vrf)
    if named := re.match(r"show bgp neighbors? (\S+)$", command):
        peers = JSON_VIEWS["show bgp neighbors"](device, False)
        return {named[1]: peers[named[1]]} if named[1] in peers else {"bgpNoSuchNeighbor": True}
    one = re.match(r"show bgp (\d+\.\d+\.\d+\.\d+/\d+)$", command)
    return None if one is None else bgp_prefix(device, one[1])
