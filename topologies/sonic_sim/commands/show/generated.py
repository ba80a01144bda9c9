"""The commands of ``show`` that SONiC generates from YANG models, a table each, and the one of packet trimming.

sonic-utilities: show/plugins/*.py; all but the last have one form: the rows of a table, or one row of it.
"""

import json
from dataclasses import dataclass

import click

from sonic_sim.commands.click7 import Group, Run, flag
from sonic_sim.commands.show.root import show
from sonic_sim.commands.tables import grid, table
from sonic_sim.configdb import decode_fields, natural_key
from sonic_sim.databases import STATE, rows_of_database

_NOT_AVAILABLE = "N/A"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A table of CONFIG_DB: its columns by title; ``row`` where one alone is shown, else ``keys`` are titles too."""

    name: str
    fields: dict[str, str]
    row: str = ""
    keys: tuple[str, ...] = ()
    numbers: str = "right"

    def text(self, run: Run) -> str:
        """Return what the command prints."""
        rows = run.db.table(self.name)
        if self.row:
            body = [self._cells(rows.get(self.row, {}))]
        else:
            ordered = sorted(rows, key=natural_key)
            body = [[*key.split("|"), *self._cells(rows[key])] for key in ordered]
        return table([*self.keys, *self.fields], body, numbers=self.numbers)

    def _cells(self, row: dict[str, str]) -> list[str]:
        fields = decode_fields(row)
        return [str(fields.get(name, _NOT_AVAILABLE)) for name in self.fields.values()]


_TABLES = {
    "fg-nhg": _Shown("FG_NHG", {"BUCKET SIZE": "bucket_size", "MATCH MODE": "match_mode",
                                "MAX NEXT HOPS": "max_next_hops"}, keys=("NAME",)),
    "fg-nhg-prefix": _Shown("FG_NHG_PREFIX", {"FG NHG": "FG_NHG"}, keys=("IP PREFIX",)),
    "fg-nhg-member": _Shown("FG_NHG_MEMBER", {"FG NHG": "FG_NHG", "BANK": "bank", "LINK": "link"},
                            keys=("NEXT HOP IP",)),
    "nvgre-tunnel": _Shown("NVGRE_TUNNEL", {"SRC IP": "src_ip"}, keys=("TUNNEL NAME",), numbers="left"),
    "nvgre-tunnel-map": _Shown("NVGRE_TUNNEL_MAP", {"VLAN ID": "vlan_id", "VSID": "vsid"},
                               keys=("TUNNEL NAME", "TUNNEL MAP NAME"), numbers="left"),
    "ldap-server": _Shown("LDAP_SERVER", {"PRIORITY": "priority"}, keys=("HOSTNAME",)),
    "auto-techsupport-feature": _Shown(
        "AUTO_TECHSUPPORT_FEATURE",
        {"STATE": "state", "RATE LIMIT INTERVAL (sec)": "rate_limit_interval",
         "AVAILABLE MEM THRESHOLD (%)": "available_mem_threshold"}, keys=("FEATURE NAME",), numbers="left"),
}  # fmt: skip
_GLOBALS = {
    ("auto-techsupport", "global", "AUTO_TECHSUPPORT part of config_db.json"): _Shown(
        "AUTO_TECHSUPPORT",
        {"STATE": "state", "RATE LIMIT INTERVAL (sec)": "rate_limit_interval",
         "MAX TECHSUPPORT LIMIT (%)": "max_techsupport_limit", "MAX CORE LIMIT (%)": "max_core_limit",
         "AVAILABLE MEM THRESHOLD (%)": "available_mem_threshold", "MIN AVAILABLE MEM (Kb)": "min_available_mem",
         "SINCE": "since"}, row="GLOBAL", numbers="left"),
    ("ldap", "global", ""): _Shown(
        "LDAP",
        {"BIND DN": "bind_dn", "BIND PASSWORD": "bind_password", "BIND TIMEOUT": "bind_timeout", "VERSION": "version",
         "BASE DN": "base_dn", "PORT": "port", "TIMEOUT": "timeout"}, row="global"),
    ("passw-hardening", "policies", "PASSWORD HARDENING part of config_db.json"): _Shown(
        "PASSW_HARDENING",
        {"STATE": "state", "EXPIRATION": "expiration", "EXPIRATION WARNING": "expiration_warning",
         "HISTORY CNT": "history_cnt", "LEN MIN": "len_min", "REJECT USER PASSW MATCH": "reject_user_passw_match",
         "LOWER CLASS": "lower_class", "UPPER CLASS": "upper_class", "DIGITS CLASS": "digits_class",
         "SPECIAL CLASS": "special_class"}, row="POLICIES"),
}  # fmt: skip


def _rows(name: str, shown: _Shown) -> None:
    @show.branching(name, "[Callable command group]", invoke_without_command=True)
    def command(run: Run) -> None:
        if click.get_current_context().invoked_subcommand is None:
            run.say(shown.text(run))


def _one_row(group: Group, name: str, shown: _Shown) -> None:
    @group.leaf(name, "")
    def command(run: Run) -> None:
        run.say(shown.text(run))


for _name, _shown in _TABLES.items():
    _rows(_name, _shown)
for (_group, _name, _text), _shown in _GLOBALS.items():
    _one_row(show.branch(_group, _text), _name, _shown)


@show.commands["auto-techsupport"].leaf("history", "")  # type: ignore[attr-defined,untyped-decorator]
def history(run: Run) -> None:
    """Show the dumps that were made by themselves."""
    start, fields = "AUTO_TECHSUPPORT_DUMP_INFO|", ("container_name", "event_type", "core_dump")
    rows = rows_of_database(run.device, STATE, f"{start}*")
    body = [[key.removeprefix(start), *(row.get(name, "") for name in fields)]
            for key, row in rows.items() if key.startswith(start)]  # fmt: skip
    run.say(table(["TECHSUPPORT DUMP", "TRIGGERED BY", "EVENT TYPE", "CORE DUMP"], body, numbers="left"))


_TRIMMING = {"size": "size", "dscp_value": "DSCP value", "tc_value": "TC value", "queue_index": "queue index"}
trimming = show.branch("switch-trimming", "Show switch trimming feature configuration")


@trimming.leaf(
    "global",
    "Show switch trimming global configuration",
    flag("-j", "--json", "as_json", help="Display in JSON format"),
)
def trimming_global(run: Run, as_json: bool) -> None:
    """Show the size and the queue of trimmed packets."""
    row = run.db.get("SWITCH_TRIMMING|GLOBAL")
    if not row:
        run.stop("No configuration is present in CONFIG DB", 0)
    found = {name: row.get(name, _NOT_AVAILABLE) for name in _TRIMMING}
    if as_json:
        run.stop(json.dumps(found, indent=4), 0)
    run.say(grid(["Configuration", "Value"], [[f"Packet trimming {_TRIMMING[name]}", found[name]] for name in found]))
