"""``show ip bgp …`` and ``show ip route``: SONiC passes them to FRR."""

from sonic_sim.bgp.views import view
from sonic_sim.commands.clicklike import Argument, Parsed, leaf
from sonic_sim.shell.programs import Result

_WORDS = (Argument("words", required=False, many=True),)


def _ask(parsed: Parsed, command: str) -> Result:
    if not parsed.call.device.frr_answers():
        return Result(1, err="Exiting: failed to connect to any daemons.\n")
    words = " ".join([command, *parsed.lists.get("words", [])])
    text = view(parsed.call.device, words)
    return Result(1, out=f"% Unknown command: {words}\n") if text is None else Result(out=text)


@leaf("show ip bgp summary", arguments=_WORDS)
def summary(parsed: Parsed) -> Result:
    """Print the BGP summary."""
    return _ask(parsed, "show bgp summary")


@leaf("show ip bgp neighbors", arguments=_WORDS)
def neighbors(parsed: Parsed) -> Result:
    """Print the BGP neighbors."""
    return _ask(parsed, "show bgp neighbors")


@leaf("show ip route", arguments=_WORDS)
def routes(parsed: Parsed) -> Result:
    """Print the routing table."""
    return _ask(parsed, "show ip route")
