"""``show vlan``, ``vrf``, ``lldp``, ``subinterfaces`` and ``acl``."""

from collections.abc import Mapping
from typing import NamedTuple

from sonic_sim.commands.click7 import Run, argument, run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.interfaces import NOT_AVAILABLE
from sonic_sim.commands.show.root import VERBOSE, show
from sonic_sim.commands.show.services import sessions_text
from sonic_sim.commands.tables import grid, table
from sonic_sim.configdb import natural_key
from sonic_sim.databases import APPL, STATE, rows_of_database
from sonic_sim.shell.programs import Call, Result, program

_ACL_TABLES = ["Name", "Type", "Binding", "Description", "Stage", "Status"]
_ACL_RULES = ["Table", "Rule", "Priority", "Action", "Match", "Status"]
_NO_MATCH = ("PRIORITY", "PACKET_ACTION", "MIRROR_ACTION", "MIRROR_INGRESS_ACTION", "MIRROR_EGRESS_ACTION")


vlan = show.branch("vlan", "Show VLAN information")


@vlan.leaf("brief", "Show all bridge information", VERBOSE)
def brief(run: Run, verbose: bool) -> None:
    db = run.db
    rows = []
    for name in sorted(db.table("VLAN"), key=natural_key):
        addresses = [key.partition("|")[2] for key in db.table("VLAN_INTERFACE") if key.startswith(f"{name}|")]
        members = _members(run, name)
        proxy = db.get(f"VLAN_INTERFACE|{name}").get("proxy_arp", "disabled")
        ports = "\n".join(member.port for member in members)
        modes = "\n".join(member.tagging for member in members)
        rows.append([name.removeprefix("Vlan"), "\n".join(addresses), ports, modes, proxy])
    run.say(grid(["VLAN ID", "IP Address", "Ports", "Port Tagging", "Proxy ARP"], rows))


class _VlanMember(NamedTuple):
    """A member of a VLAN, and whether its frames are ``tagged`` or ``untagged``."""

    port: str
    tagging: str


def _members(run: Run, name: str) -> list[_VlanMember]:
    """Return the members of a VLAN in natural order."""
    rows = run.db.table("VLAN_MEMBER")
    ports = [key.partition("|")[2] for key in rows if key.startswith(f"{name}|")]
    members = []
    for port in sorted(ports, key=natural_key):
        row = rows[f"{name}|{port}"]
        members.append(_VlanMember(port, row.get("tagging_mode", "")))
    return members


@vlan.leaf("config", "")
def vlan_config(run: Run) -> None:
    rows = []
    for name in sorted(run.db.table("VLAN"), key=natural_key):
        vid = run.db.get(f"VLAN|{name}").get("vlanid", "")
        # A VLAN without members has a row, too.
        members = _members(run, name) or [_VlanMember("", "")]
        rows += [[name, vid, member.port, member.tagging] for member in members]
    run.say(table(["Name", "VID", "Member", "Mode"], rows))


@show.leaf("vrf", "Show vrf config", argument("vrf_name", required=False))
def vrf(run: Run, vrf_name: str | None) -> None:
    tables = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE", "VLAN_SUB_INTERFACE")
    rows = []
    for name in sorted(run.db.table("VRF"), key=natural_key):
        if vrf_name not in (None, name):
            continue
        interfaces: list[str] = []
        for table_name in tables:
            interfaces += [key for key, row in run.db.table(table_name).items() if row.get("vrf_name") == name]
        first, *further = interfaces or [""]
        rows.append([name, first])
        rows += [["", interface] for interface in further]
    run.say(table(["VRF", "Interfaces"], rows))


lldp = show.branch("lldp", "Show LLDP information")


not_simulated(lldp, "neighbors  Show LLDP neighbors")


@lldp.leaf("table", "Show LLDP neighbors in tabular format", VERBOSE)
def lldp_table(run: Run, verbose: bool) -> None:
    start = "LLDP_ENTRY_TABLE:"
    entries = {}
    for key, entry in rows_of_database(run.device, APPL, f"{start}*").items():
        # The database also has rows that somebody wrote by hand, whatever is asked for.
        if key.startswith(start):
            entries[key.removeprefix(start)] = entry
    body = []
    for port in sorted(entries, key=natural_key):
        entry = entries[port]
        # 28 00 has the bits of bridge and router (IEEE 802.1AB, lldpRemSysCapEnabled).
        capability = "BR" if entry["lldp_rem_sys_cap_enabled"] == "28 00" else "O"
        remote_port = entry["lldp_rem_port_id"]
        body.append([port, entry["lldp_rem_sys_name"], remote_port, capability, entry["lldp_rem_port_desc"]])
    run.say("Capability codes: (R) Router, (B) Bridge, (O) Other")
    run.say(table(["LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"], body))
    run.say(f"{'-' * 50}\nTotal entries displayed:  {len(body)}")


acl = show.branch("acl", "Show ACL related information")


@acl.leaf("table", "Show existing ACL tables", argument("table_name", required=False), VERBOSE)
def acl_tables(run: Run, table_name: str | None, verbose: bool) -> None:
    rows = []
    for name in sorted(run.db.table("ACL_TABLE")):
        if table_name not in (None, name):
            continue
        row = run.db.get(f"ACL_TABLE|{name}")
        if row.get("type") == "CTRLPLANE":
            # caclmgrd puts these into the host's iptables: they are bound to services, and no ASIC has to take them.
            bindings = row.get("services@", "")
            status = "Active"
        else:
            bindings = row.get("ports@", "")
            status = _status(run, f"ACL_TABLE_TABLE|{name}")
        first, *further = sorted(bindings.split(","), key=natural_key)
        stage = row.get("stage", "ingress")
        rows.append([name, row.get("type", ""), first, row.get("policy_desc", ""), stage, status])
        rows += [["", "", binding, "", "", ""] for binding in further]
    run.say(table(_ACL_TABLES, rows))


def _status(run: Run, key: str) -> str:
    """Return the status in a row of STATE_DB."""
    row = rows_of_database(run.device, STATE, key).get(key, {})
    return row.get("status", NOT_AVAILABLE)


@acl.leaf(
    "rule",
    "Show existing ACL rules",
    argument("table_name", required=False),
    argument("rule_id", required=False),
    VERBOSE,
)
def acl_rules(run: Run, table_name: str | None, rule_id: str | None, verbose: bool) -> None:
    rules = []
    for key, fields in run.db.table("ACL_RULE").items():
        name, _, rule_name = key.partition("|")
        if table_name in (None, name) and rule_id in (None, rule_name):
            rules.append(_ShownRule(name, rule_name, int(fields.get("PRIORITY", "0")), fields))
    rows = []
    for rule in sorted(rules, key=lambda rule: (-rule.priority, rule.table, rule.name)):
        matches = sorted(f"{field}: {value}" for field, value in rule.fields.items() if field not in _NO_MATCH)
        first, *further = matches or [NOT_AVAILABLE]
        status = _status(run, f"ACL_RULE_TABLE|{rule.table}|{rule.name}")
        if run.db.get(f"ACL_TABLE|{rule.table}").get("type") == "CTRLPLANE":
            status = "Active"
        action = rule.fields.get("PACKET_ACTION", "")
        rows.append([rule.table, rule.name, str(rule.priority), action, first, status])
        rows += [["", "", "", "", match, ""] for match in further]
    run.say(table(_ACL_RULES, rows))


class _ShownRule(NamedTuple):
    """A rule of an ACL, and all fields of its row."""

    table: str
    name: str
    priority: int
    fields: Mapping[str, str]


@program("acl-loader")
def acl_loader(call: Call) -> Result:
    """Run ``acl-loader show table|rule|session|policer``."""
    words = call.argv[1:]
    if words[:1] == ["show"] and words[1:2] in (["table"], ["rule"]):
        return run(acl, Call(call.device, words, user=call.user))
    if words[:2] == ["show", "session"]:
        return Result(out=sessions_text(Run(call), None))
    if words[:2] == ["show", "policer"]:
        return Result(out=table(["Name", "Type", "Mode", "CIR", "CBS"], []) + "\n")
    return Result(1, err=f"acl-loader {' '.join(words)}: this command of SONiC is not simulated\n")
