"""``config acl``: tables of access lists."""

from sonic_sim.commands.click7 import Choice, Run, argument, option
from sonic_sim.commands.config.root import config, not_simulated
from sonic_sim.configdb import encode_fields

acl = config.branch("acl", "ACL-related configuration tasks")


add = acl.branch("add", "Add ACL configuration.")


@add.leaf(
    "table",
    "Add ACL table",
    argument("table_name", metavar="<table_name>"),
    argument("table_type", metavar="<table_type>"),
    option("-d", "--description"),
    option("-p", "--ports"),
    option("-s", "--stage", type=Choice(["ingress", "egress"]), default="ingress"),
)
def add_table(
    run: Run, table_name: str, table_type: str, description: str | None, ports: str | None, stage: str
) -> None:
    try:
        members = _ports_to_bind(run, ports)
    except ValueError as error:
        run.fail(f"Failed to parse ACL table config: exception={error}")
    # Without a description SONiC repeats the name.
    row = {"type": table_type, "policy_desc": description or table_name, "ports": members, "stage": stage}
    run.db.put(f"ACL_TABLE|{table_name}", encode_fields(row))


def _ports_to_bind(run: Run, text: str | None) -> list[str]:
    """Return the ports that ``text`` names for a table to be bound to; None names all that can be bound.

    Raises ValueError for an empty text, and for a port that cannot be bound.
    """
    bindable = _bindable(run)
    if text is None:
        return sorted(bindable)
    if not text:
        raise ValueError("Cannot bind empty list of ports")
    ports: list[str] = []
    for name in text.split(","):
        if f"VLAN|{name}" in run.db.rows:
            ports += _members(run, name)
        else:
            ports.append(name)
    for port in ports:
        if port not in bindable:
            raise ValueError(f"Cannot bind ACL to specified port {port}")
    return list(dict.fromkeys(ports))


def _bindable(run: Run) -> set[str]:
    """Return the interfaces that a table can be bound to: port channels, and ports outside of them."""
    channels = set()
    members = set()
    for key in run.db.table("PORTCHANNEL_MEMBER"):
        channel, _, port = key.partition("|")
        channels.add(channel)
        members.add(port)
    return channels | (set(run.db.table("PORT")) - members)


def _members(run: Run, vlan: str) -> list[str]:
    """Return the members of a VLAN. Raises ValueError for a VLAN without any."""
    ports = []
    for key in run.db.table("VLAN_MEMBER"):
        vlan_of_row, _, port = key.partition("|")
        if vlan_of_row == vlan:
            ports.append(port)
    if not ports:
        raise ValueError(f"Cannot bind empty VLAN {vlan}")
    return ports


remove = acl.branch("remove", "Remove ACL configuration.")


@remove.leaf("table", "Remove ACL table", argument("table_name", metavar="<table_name>"))
def remove_table(run: Run, table_name: str) -> None:
    run.db.delete(f"ACL_TABLE|{table_name}")


update = acl.branch("update", "ACL-related configuration tasks")


not_simulated(
    update,
    """
    full         Full update of ACL rules configuration.
    incremental  Incremental update of ACL rule configuration.
""",
)
