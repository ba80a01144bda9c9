"""``crm``: use and thresholds of the ASIC's tables (sonic-utilities 202505, crm/main.py)."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from sonic_sim.commands.click7 import PLAIN_HELP, Choice, Group, Integer, PlainGroup, Range, Run, argument, run
from sonic_sim.commands.tables import Rows, table
from sonic_sim.configdb import Hash
from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.shell.programs import Call, Result, program

crm = PlainGroup("crm", help="Utility entry point.", context_settings=PLAIN_HELP)
_THRESHOLDS = (
    "ipv4_route", "ipv6_route", "ipv4_nexthop", "ipv6_nexthop", "ipv4_neighbor", "ipv6_neighbor",
    "nexthop_group_member", "nexthop_group", "acl_table", "acl_group", "acl_entry", "acl_counter", "fdb_entry",
    "ipmc_entry", "snat_entry", "dnat_entry", "mpls_inseg", "mpls_nexthop", "srv6_nexthop", "srv6_my_sid_entry",
)  # fmt: skip
_RESOURCES = tuple(name for name in _THRESHOLDS if not name.startswith("acl_"))
_FAMILIES = {
    "ipv4": ("IPv4", ("neighbor", "nexthop", "route")), "ipv6": ("IPv6", ("neighbor", "nexthop", "route")),
    "mpls": ("MPLS", ("inseg", "nexthop")),
}  # fmt: skip
_SINGLE = {
    # command: (resource, its name in the help of `config`, and of `show`)
    "fdb": ("fdb_entry", "FDB resource", "fdb resource"), "ipmc": ("ipmc_entry", "IPMC resource", "IPMC resource"),
    "snat": ("snat_entry", "Source NAT resource", "SNAT resource"),
    "dnat": ("dnat_entry", "Destination NAT resource", "DNAT resource"),
    "srv6-nexthop": ("srv6_nexthop", "SRV6 Nexthop resource", "SRV6 Nexthop"),
    "srv6-my-sid-entry": ("srv6_my_sid_entry", "SRV6 MY_SID resource", "SRV6 MY_SID entry"),
}  # fmt: skip
_KINDS = {"inseg": "in-segment", "neighbor": "neigbor"}
"""How the help of `config` names a kind of resource, spelled as there."""

config = crm.branch("config", "CRM related configuration")
shown = crm.branch("show", "Show CRM related information")


def _settings(group: Group, resource: str) -> None:
    """Add the commands that set the thresholds of a resource."""

    def put(run: Run, what: str, value: object) -> None:
        run.db.set_fields("CRM|Config", {f"{resource}_{what}": str(value)})

    kinds = argument("value", type=Choice(["percentage", "used", "free"]))
    group.leaf("type", "CRM threshold type configuration", kinds)(lambda one, value: put(one, "threshold_type", value))
    for end in ("low", "high"):
        group.leaf(end, f"CRM {end} threshold configuration", argument("value", type=Integer()))(
            lambda one, value, end=end: put(one, f"{end}_threshold", value)
        )


def _add_thresholds() -> None:
    thresholds = config.branch("thresholds", "CRM thresholds configuration")
    for family, (title, kinds) in _FAMILIES.items():
        group = thresholds.branch(family, f"CRM resource {title} address-family")
        for kind in kinds:
            what = f"CRM configuration for {_KINDS.get(kind, kind)} resource"
            _settings(group.branch(kind, what), f"{family}_{kind}")
    nexthop = thresholds.branch("nexthop", "CRM configuration for nexthop resource")
    groups = nexthop.branch("group", "CRM configuration for nexthop group resource")
    member = groups.branch("member", "CRM configuration for nexthop group member resource")
    _settings(member, "nexthop_group_member")
    _settings(groups.branch("object", "CRM configuration for nexthop group resource"), "nexthop_group")
    for name, (resource, what, _) in _SINGLE.items():
        _settings(thresholds.branch(name, f"CRM configuration for {what}"), resource)
    acl = thresholds.branch("acl", "CRM configuration for ACL resource")
    _settings(acl.branch("table", "CRM configuration for ACL table resource"), "acl_table")
    group = acl.branch("group", "CRM configuration for ACL group resource")
    _settings(group, "acl_group")
    _settings(group.branch("entry", "CRM configuration for ACL entry resource"), "acl_entry")
    _settings(group.branch("counter", "CRM configuration for ACL counter resource"), "acl_counter")


_add_thresholds()


@config.branch("polling", "CRM polling configuration").leaf(
    "interval",
    "CRM polling interval configuration in seconds (range: 1-9999)",
    argument("interval", type=Range(1, 9999)),
)
def interval(run: Run, interval: int) -> None:
    run.db.set_fields("CRM|Config", {"polling_interval": str(interval)})


@shown.leaf("summary", "Show CRM general information")
def summary(run: Run) -> None:
    row = run.db.get("CRM|Config")
    if row and "polling_interval" in row:
        run.say(f"\nPolling Interval: {row['polling_interval']} second(s)\n")
        return
    run.say("\nError! Could not get CRM configuration.\n")
    if row:
        run.say("\nError! Please configure polling interval.\n")


def _say_table(run: Run, headers: Sequence[str], rows: Rows) -> None:
    run.say(f"\n{table(headers, rows)}\n")


def _show_thresholds(run: Run, *names: str) -> None:
    row = run.db.get("CRM|Config")
    if not row:
        run.say("\nError! Could not get CRM configuration.")
    fields = ("threshold_type", "low_threshold", "high_threshold")
    body = [[name, *(row[f"{name}_{field}"] for field in fields)] for name in names
            if all(f"{name}_{field}" in row for field in fields)]  # fmt: skip
    _say_table(run, ("Resource Name", "Threshold Type", "Low Threshold", "High Threshold"), body)


def _counts(row: Hash, names: Sequence[str]) -> list[list[str]]:
    """Return name, used and available of those resources that a row counts."""
    ends = ("used", "available")
    return [[name, *(row[f"crm_stats_{name}_{end}"] for end in ends)] for name in names
            if all(f"crm_stats_{name}_{end}" in row for end in ends)]  # fmt: skip


def _stats(run: Run, pattern: str) -> dict[str, Hash]:
    rows = rows_of_database(run.device, COUNTERS, pattern)
    return {key: row for key, row in rows.items() if fnmatchcase(key, pattern)}


def _show_resources(run: Run, *names: str) -> None:
    body = _counts(_stats(run, "CRM:STATS").get("CRM:STATS", {}), names)
    if body:
        _say_table(run, ("Resource Name", "Used Count", "Available Count"), body)
    else:
        run.say("\nCRM counters are not ready. They would be populated after the polling interval.")


def _show_acl_resources(run: Run) -> None:
    rows = _stats(run, "CRM:ACL_STATS:*")
    body = [
        [stage, point, *counts]
        for stage in ("INGRESS", "EGRESS")
        for point in ("PORT", "LAG", "VLAN", "RIF", "SWITCH")
        for counts in _counts(rows.get(f"CRM:ACL_STATS:{stage}:{point}", {}), ("acl_group", "acl_table"))
    ]
    _say_table(run, ("Stage", "Bind Point", "Resource Name", "Used Count", "Available Count"), body)


def _show_acl_tables(run: Run) -> None:
    start = "CRM:ACL_TABLE_STATS"
    body = [
        [key.replace(f"{start}:", ""), *counts]
        for key, row in _stats(run, f"{start}*").items()
        for counts in _counts(row, ("acl_entry", "acl_counter"))
    ]
    _say_table(run, ("Table ID", "Resource Name", "Used Count", "Available Count"), body)


def _show_all(run: Run) -> None:
    _show_resources(run, *_RESOURCES)
    _show_acl_resources(run)
    _show_acl_tables(run)


def _add_shown(name: str, *, thresholds: bool) -> None:
    """Add ``crm show resources`` or ``crm show thresholds``, which have the same commands."""
    root = shown.branch(name, f"Show CRM {name} information")

    def add(group: Group, word: str, what: str, resource: str) -> None:
        def show(run: Run) -> None:
            _show_thresholds(run, resource) if thresholds else _show_resources(run, resource)

        group.leaf(word, f"Show CRM information for {what}")(show)

    root.leaf("all", "Show CRM information for all resources")(
        (lambda one: _show_thresholds(one, *_THRESHOLDS)) if thresholds else _show_all
    )
    for family, (title, kinds) in _FAMILIES.items():
        group = root.branch(family, f"CRM resource {title} address family")
        for kind in kinds:
            add(group, kind, f"{'in-segment' if kind == 'inseg' else kind} resource", f"{family}_{kind}")
    groups = root.branch("nexthop", "Show CRM information for nexthop resource").branch(
        "group", "Show CRM information for nexthop group resource"
    )
    add(groups, "member", "nexthop group member resource", "nexthop_group_member")
    add(groups, "object", "nexthop group resource", "nexthop_group")
    for word, (resource, _, what) in _SINGLE.items():
        add(root, word, what, resource)
    acl = root.branch("acl", "Show CRM information for acl resource")
    for word, show in (("table", _show_acl_tables), ("group", _show_acl_resources)):
        if thresholds:
            add(acl, word, f"acl {word} resource", f"acl_{word}")
        else:
            acl.leaf(word, f"Show CRM information for acl {word} resource")(show)


_add_shown("resources", thresholds=False)
_add_shown("thresholds", thresholds=True)


@program("crm")
def run_crm(call: Call) -> Result:
    """Run ``crm``."""
    return run(crm, call)
