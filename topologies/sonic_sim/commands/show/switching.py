"""``show vlan``, ``vrf``, ``lldp``, ``subinterfaces``, ``acl`` and ``sflow``."""

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
    names = sorted(run.db.table("VRF"), key=natural_key)
    for name in names if vrf_name is None else [one_name for one_name in names if one_name == vrf_name]:
        bound = [
            key for one_table in tables for key, row in run.db.table(one_table).items() if row.get("vrf_name") == name
        ]
        rows += [[name if place == 0 else "", key] for place, key in enumerate(bound or [""])]
    run.say(table(["VRF", "Interfaces"], rows))


lldp = show.branch("lldp", "Show LLDP information")


not_simulated(lldp, "neighbors  Show LLDP neighbors")


@lldp.leaf("table", "Show LLDP neighbors in tabular format", VERBOSE)
def lldp_table(run: Run, verbose: bool) -> None:
    rows = rows_of_database(run.device, APPL, "LLDP_ENTRY_TABLE:*")
    heard = {key.partition(":")[2]: row for key, row in rows.items() if key.startswith("LLDP_ENTRY_TABLE:")}
    body = [
        [port, heard[port]["lldp_rem_sys_name"], heard[port]["lldp_rem_port_id"],
         "BR" if heard[port]["lldp_rem_sys_cap_enabled"] == "28 00" else "O", heard[port]["lldp_rem_port_desc"]]
        for port in sorted(heard, key=natural_key)
    ]  # fmt: skip
    run.say("Capability codes: (R) Router, (B) Bridge, (O) Other")
    run.say(table(["LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"], body))
    run.say(f"{'-' * 50}\nTotal entries displayed:  {len(body)}")


acl = show.branch("acl", "Show ACL related information")


@acl.leaf("table", "Show existing ACL tables", argument("table_name", required=False), VERBOSE)
def acl_tables(run: Run, table_name: str | None, verbose: bool) -> None:
    rows = []
    for name in sorted(run.db.table("ACL_TABLE")):
        row = run.db.get(f"ACL_TABLE|{name}")
        if table_name in (None, name):
            control = row.get("type") == "CTRLPLANE"
            binding = sorted(row.get("services@" if control else "ports@", "").split(","), key=natural_key)
            status = "Active" if control else _status(run, f"ACL_TABLE_TABLE|{name}")
            head = [
                name,
                row.get("type", ""),
                binding[0],
                row.get("policy_desc", ""),
                row.get("stage", "ingress"),
                status,
            ]
            rows += [head, *(["", "", port, "", "", ""] for port in binding[1:])]
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
    rules = run.db.table("ACL_RULE")
    found = []
    for key, row in rules.items():
        name, _, rule = key.partition("|")
        if table_name in (None, name) and rule_id in (None, rule):
            found.append((-int(row.get("PRIORITY", "0")), name, rule, row))
    rows = []
    for priority, name, rule, row in sorted(found, key=lambda one_rule: one_rule[:3]):
        matches = sorted(f"{field}: {value}" for field, value in row.items() if field not in _NO_MATCH) or [
            NOT_AVAILABLE
        ]
        action = row.get("PACKET_ACTION", "")
        control = run.db.get(f"ACL_TABLE|{name}").get("type") == "CTRLPLANE"
        status = "Active" if control else _status(run, f"ACL_RULE_TABLE|{name}|{rule}")
        rows += [[name, rule, str(-priority), action, matches[0], status]]
        rows += [["", "", "", "", match, ""] for match in matches[1:]]
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
