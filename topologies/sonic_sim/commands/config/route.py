"""``config route``: static routes in CONFIG_DB (config/main.py, cli_sroute_to_config)."""

import ipaddress
from itertools import takewhile, zip_longest
from typing import NamedTuple

from sonic_sim.commands.click7 import Run, argument
from sonic_sim.commands.config.names import vrf_exists
from sonic_sim.commands.config.root import config
from sonic_sim.shell.programs import ProgramError

# Lists of equal length, a member a next hop (STATIC_ROUTE).
_FIELDS = ("nexthop", "nexthop-vrf", "ifname", "distance", "blackhole")
# Those by which a next hop is found.
_IDENTITY = ("nexthop", "nexthop-vrf", "ifname")
_FORM = "prefix [vrf <vrf_name>] <A.B.C.D/M> nexthop [vrf <vrf_name>]"
_HOPS = "<A.B.C.D>|<dev <dev_name>>|<A.B.C.D dev <dev_name>>"
_command_str = argument("command_str", metavar=f"{_FORM}                 {_HOPS}", nargs=-1)
_SETTINGS = {"ignore_unknown_options": True}


route = config.branch("route", "route-related configuration tasks")


class _RouteWords(NamedTuple):
    """A route on the command line: the key of its row, and the fields that the words name."""

    key: str
    fields: dict[str, str]


def _read(run: Run, words: tuple[str, ...], *, needs_hop: bool) -> _RouteWords:
    """Return the route of a command line. Raises ProgramError if a word is missing."""
    try:
        return _parsed(run, words, needs_hop=needs_hop)
    except IndexError as error:
        raise ProgramError(f"IndexError: {error}") from error


def _target(run: Run, words: tuple[str, ...]) -> tuple[str, str]:
    """Return the VRF and the prefix of the words before the next hop."""
    if "prefix" not in words:
        run.fail("prefix is not in pattern!")
    # The words are read by their place, so another order ends in an IndexError or a refused address.
    if "vrf" not in words:
        return "default", words[1]
    vrf = words[2]
    prefix = words[3]
    if not vrf_exists(run.db, vrf):
        run.fail(f"VRF {vrf} does not exist!")
    return vrf, prefix


def _parsed(run: Run, words: tuple[str, ...], *, needs_hop: bool) -> _RouteWords:
    """Return the route of a command line; one that is not valid is refused. Raises IndexError if a word is missing."""
    if not 2 <= len(words) <= 10:
        run.fail(f"argument is not in pattern {_FORM}                  {_HOPS}!")
    if "prefix" not in words:
        run.fail("argument is incomplete, prefix not found!")
    if needs_hop and "nexthop" not in words:
        run.fail("argument is incomplete, nexthop not found!")
    target = tuple(takewhile(lambda word: word != "nexthop", words))
    vrf, prefix = _target(run, target)
    fields: dict[str, str] = {}
    if len(target) < len(words):
        fields = _hops(run, words[len(target) + 1 :])
    try:
        ipaddress.ip_network(prefix)
        for hop in _listed(fields, "nexthop"):
            ipaddress.ip_address(hop)
    except ValueError:
        run.fail("ip address is not valid.")
    for name in _listed(fields, "ifname"):
        _check_interface(run, name)
    return _RouteWords(f"STATIC_ROUTE|{vrf}|{prefix}", fields)


def _listed(fields: dict[str, str], name: str) -> list[str]:
    """Return the members of a field that holds a list; none if the field is not there."""
    if name not in fields:
        return []
    return fields[name].split(",")


def _hops(run: Run, words: tuple[str, ...]) -> dict[str, str]:
    """Return the fields of the next hops ``[vrf NAME] ADDRESS|dev INTERFACE|ADDRESS dev INTERFACE``."""
    fields = {}
    if words[0] == "vrf":
        for name in words[1].split(","):
            if not vrf_exists(run.db, name):
                run.fail(f"Nexthop VRF {name} does not exist!")
        fields["nexthop-vrf"] = words[1]
        words = words[2:]
    if words[0] == "dev":
        return {**fields, "ifname": words[1]}
    fields["nexthop"] = words[0]
    if len(words) > 1:
        if words[1] != "dev" or len(words) < 3:
            run.fail("nexthop is not in pattern!")
        fields["ifname"] = words[2]
    return fields


def _check_interface(run: Run, name: str) -> None:
    """Refuse an interface that is not there; ``null`` always is."""
    rows = run.db.rows
    if name.startswith("PortChannel"):
        if f"PORTCHANNEL|{name}" not in rows:
            run.fail("portchannel does not exist.")
    elif name.startswith("Vlan"):
        if f"VLAN_INTERFACE|{name}" not in rows:
            run.fail("vlan interface does not exist.")
    elif f"INTERFACE|{name}" not in rows and name != "null":
        run.fail(f"interface {name} does not exist.")


@route.leaf("add", "Add route command", _command_str, context_settings=_SETTINGS)
def add(run: Run, command_str: tuple[str, ...]) -> None:
    key, fields = _read(run, command_str, needs_hop=True)
    count = max(len(fields.get(name, "").split(",")) for name in ("nexthop", "ifname"))
    lists = {name: _filled(fields, name, count) for name in _FIELDS}
    row = run.db.get(key)
    if row:
        # The hops come after those that the route has.
        lists = {name: f"{row.get(name, '')},{value}" for name, value in lists.items()}
    run.db.set_fields(key, lists)


def _filled(fields: dict[str, str], name: str, count: int) -> str:
    """Return a field with a value for each of ``count`` next hops, of which the words may name fewer."""
    interfaces = fields.get("ifname", "").split(",")
    values = _listed(fields, name)
    for index in range(len(values), count):
        # The interface ``null`` drops what is sent to it.
        is_blackhole = index < len(interfaces) and interfaces[index] == "null"
        defaults = {
            "distance": "0",
            "blackhole": str(is_blackhole).lower(),
            "nexthop-vrf": values[0] if values else "",
        }
        values.append(defaults.get(name, ""))
    return ",".join(values)


@route.leaf("del", "Del route command", _command_str, context_settings=_SETTINGS)
def remove(run: Run, command_str: tuple[str, ...]) -> None:
    key, fields = _read(run, command_str, needs_hop=False)
    name = key.removeprefix("STATIC_ROUTE|")
    if key not in run.db.rows:
        run.fail(f"Route {name} doesnt exist")
    if "nexthop" not in fields and "ifname" not in fields:
        run.db.delete(key)
        return
    if any("," in value for value in fields.values()):
        run.fail("Only one nexthop can be deleted at a time")
    hop = tuple(fields.get(field, "") for field in _IDENTITY)
    _remove_hop(run, key, hop)


def _remove_hop(run: Run, key: str, hop: tuple[str, ...]) -> None:
    """Remove one next hop from a route, and the route with its last one; ``hop`` has the values of ``_IDENTITY``."""
    row = run.db.get(key)
    lists = {field: row.get(field, "").split(",") for field in _FIELDS}
    hops = list(zip_longest(*(lists[field] for field in _IDENTITY), fillvalue=""))
    if hop not in hops:
        run.fail(f"Not found {hop} in {key.removeprefix('STATIC_ROUTE|')}")
    index = hops.index(hop)
    for values in lists.values():
        # A list may be shorter than others: a slice may be empty, an index would have to be there.
        del values[index : index + 1]
    if lists["nexthop"] in ([], [""]) and lists["ifname"] in ([], [""]):
        run.db.delete(key)
    else:
        run.db.set_fields(key, {field: ",".join(values) for field, values in lists.items()})
