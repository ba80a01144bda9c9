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
        members = _ports(run, ports)
    except ValueError as error:
        run.fail(f"Failed to parse ACL table config: exception={error}")
    row = {"type": table_type, "policy_desc": description or table_name, "ports": members, "stage": stage}
    run.db.put(f"ACL_TABLE|{table_name}", encode_fields(row))


def _ports(run: Run, text: str | None) -> list[str]:
    """Return the ports that a table is bound to. Raises ValueError."""
    db = run.db
    members = [key.partition("|") for key in db.table("PORTCHANNEL_MEMBER")]
    bound = {channel for channel, _, _ in members} | (set(db.table("PORT")) - {port for _, _, port in members})
    if text is None:
        return sorted(bound)
    if not text:
        raise ValueError("Cannot bind empty list of ports")
    ports: list[str] = []
    for name in text.split(","):
        inside = [key.partition("|")[2] for key in db.table("VLAN_MEMBER") if key.partition("|")[0] == name]
        if f"VLAN|{name}" in db.rows and not inside:
            raise ValueError(f"Cannot bind empty VLAN {name}")
        ports += inside if f"VLAN|{name}" in db.rows else [name]
    unknown = next((port for port in ports if port not in bound), None)
    if unknown:
        raise ValueError(f"Cannot bind ACL to specified port {unknown}")
    return list(dict.fromkeys(ports))


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
