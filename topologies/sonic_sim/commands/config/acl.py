"""``config acl``: tables of access lists."""

from sonic_sim.commands.click7 import Choice, Run, argument, option, pass_run
from sonic_sim.commands.config.root import config, not_simulated
from sonic_sim.configdb import encode_fields


@config.group()
def acl() -> None:
    """ACL-related configuration tasks"""


@acl.group()
def add() -> None:
    """Add ACL configuration."""


@add.command("table")
@argument("table_name", metavar="<table_name>")
@argument("table_type", metavar="<table_type>")
@option("-d", "--description")
@option("-p", "--ports")
@option("-s", "--stage", type=Choice(["ingress", "egress"]), default="ingress")
@pass_run
def add_table(
    one: Run, table_name: str, table_type: str, description: str | None, ports: str | None, stage: str
) -> None:
    """Add ACL table"""
    try:
        members = _ports(one, ports)
    except ValueError as error:
        one.fail(f"Failed to parse ACL table config: exception={error}")
    row = {"type": table_type, "policy_desc": description or table_name, "ports": members, "stage": stage}
    one.db.put(f"ACL_TABLE|{table_name}", encode_fields(row))


def _ports(one: Run, text: str | None) -> list[str]:
    """Return the ports that a table is bound to. Raises ValueError."""
    db = one.db
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


@acl.group()
def remove() -> None:
    """Remove ACL configuration."""


@remove.command("table")
@argument("table_name", metavar="<table_name>")
@pass_run
def remove_table(one: Run, table_name: str) -> None:
    """Remove ACL table"""
    one.db.delete(f"ACL_TABLE|{table_name}")


@acl.group()
def update() -> None:
    """ACL-related configuration tasks"""


not_simulated(
    update,
    """
    full         Full update of ACL rules configuration.
    incremental  Incremental update of ACL rule configuration.
""",
)
