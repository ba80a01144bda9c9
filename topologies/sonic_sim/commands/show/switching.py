"""``show vlan``, ``vrf``, ``lldp``, ``subinterfaces`` and ``acl``."""

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
        modes = [mode for _, mode in members]
        ports = [port for port, _ in members]
        rows.append([name.removeprefix("Vlan"), "\n".join(addresses), "\n".join(ports), "\n".join(modes), proxy])
    run.say(grid(["VLAN ID", "IP Address", "Ports", "Port Tagging", "Proxy ARP"], rows))


def _members(run: Run, name: str) -> list[tuple[str, str]]:
    """Return the members of a VLAN with their modes."""
    rows = run.db.table("VLAN_MEMBER")
    ports = [key.partition("|")[2] for key in rows if key.startswith(f"{name}|")]
    return [(port, rows[f"{name}|{port}"].get("tagging_mode", "")) for port in sorted(ports, key=natural_key)]


@vlan.leaf("config", "")
def vlan_config(run: Run) -> None:
    rows = []
    for name in sorted(run.db.table("VLAN"), key=natural_key):
        vid = run.db.get(f"VLAN|{name}").get("vlanid", "")
        rows += [[name, vid, port, mode] for port, mode in _members(run, name) or [("", "")]]
    run.say(table(["Name", "VID", "Member", "Mode"], rows))


@show.leaf("vrf", "Show vrf config", argument("vrf_name", required=False))
def vrf(run: Run, vrf_name: str | None) -> None:
    tables = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE", "VLAN_SUB_INTERFACE")
    rows = []
    for name in sorted(run.db.table("VRF"), key=natural_key):
        if vrf_name not in (None, name):
            continue
        bound: list[str] = []
        for table_name in tables:
            bound += [key for key, row in run.db.table(table_name).items() if row.get("vrf_name") == name]
        first, *others = bound or [""]
        rows.append([name, first])
        rows += [["", key] for key in others]
    run.say(table(["VRF", "Interfaces"], rows))


lldp = show.branch("lldp", "Show LLDP information")


not_simulated(lldp, "neighbors  Show LLDP neighbors")


@lldp.leaf("table", "Show LLDP neighbors in tabular format", VERBOSE)
def lldp_table(run: Run, verbose: bool) -> None:
    rows = rows_of_database(run.device, APPL, "LLDP_ENTRY_TABLE:*")
    heard = {key.partition(":")[2]: row for key, row in rows.items() if key.startswith("LLDP_ENTRY_TABLE:")}
    body = []
    for port in sorted(heard, key=natural_key):
        row = heard[port]
        # 28 00 has the bits of bridge and router (IEEE 802.1AB, lldpRemSysCapEnabled).
        capability = "BR" if row["lldp_rem_sys_cap_enabled"] == "28 00" else "O"
        cells = [row["lldp_rem_sys_name"], row["lldp_rem_port_id"], capability, row["lldp_rem_port_desc"]]
        body.append([port, *cells])
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
        bound = row.get("ports@", "")
        status = _status(run, f"ACL_TABLE_TABLE|{name}")
        if row.get("type") == "CTRLPLANE":
            # caclmgrd puts these into the host's iptables: they are bound to services, and no ASIC has to take them.
            bound = row.get("services@", "")
            status = "Active"
        first, *others = sorted(bound.split(","), key=natural_key)
        stage = row.get("stage", "ingress")
        rows.append([name, row.get("type", ""), first, row.get("policy_desc", ""), stage, status])
        rows += [["", "", port, "", "", ""] for port in others]
    run.say(table(_ACL_TABLES, rows))


def _status(run: Run, key: str) -> str:
    return rows_of_database(run.device, STATE, key).get(key, {}).get("status", NOT_AVAILABLE)


@acl.leaf(
    "rule",
    "Show existing ACL rules",
    argument("table_name", required=False),
    argument("rule_id", required=False),
    VERBOSE,
)
def acl_rules(run: Run, table_name: str | None, rule_id: str | None, verbose: bool) -> None:
    rules = []
    for key, row in run.db.table("ACL_RULE").items():
        name, _, rule = key.partition("|")
        if table_name in (None, name) and rule_id in (None, rule):
            rules.append((-int(row.get("PRIORITY", "0")), name, rule, row))
    rows = []
    # The highest priority first; the row itself cannot be compared.
    for priority, name, rule, row in sorted(rules, key=lambda entry: entry[:3]):
        matches = sorted(f"{field}: {value}" for field, value in row.items() if field not in _NO_MATCH)
        first, *others = matches or [NOT_AVAILABLE]
        status = _status(run, f"ACL_RULE_TABLE|{name}|{rule}")
        if run.db.get(f"ACL_TABLE|{name}").get("type") == "CTRLPLANE":
            status = "Active"
        rows.append([name, rule, str(-priority), row.get("PACKET_ACTION", ""), first, status])
        rows += [["", "", "", "", match, ""] for match in others]
    run.say(table(_ACL_RULES, rows))


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
