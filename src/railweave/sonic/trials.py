"""Reversible changes that try the rules of ``methods`` on one unused switch.

Each changes one row that SONiC follows while it runs, and is reverted to exactly the row before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railweave.sonic.delta.change import Delta, Disruption, Edit, Op
from railweave.sonic.delta.daemon_rows import leaves_rows
from railweave.sonic.delta.delta import applied, inverse, judged
from railweave.sonic.delta.edits import row_edits
from railweave.sonic.delta.lossless import PFC_ENABLE
from railweave.sonic.delta.methods import classify
from railweave.sonic.delta.rules import RULES, TreatmentRule, find_rule
from railweave.sonic.document import RunningConfig
from railweave.sonic.resolved import QOS_TABLES
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Row, Value, number


@dataclass(frozen=True, slots=True)
class Trial:
    """One reversible change with the delta that a plan would have.

    ``rule`` is the rule that it tries (None for a line of FRR), ``objects`` are the types of ASIC objects that must
    change.
    """

    name: str
    delta: Delta
    rule: TreatmentRule | None
    objects: tuple[str, ...] = ()

    @property
    def disruption(self) -> Disruption:
        """Return the disruption that the rules claim for the change."""
        return max((change.disruption for change in self.delta), key=list(Disruption).index)


@dataclass(frozen=True, slots=True)
class _Mutation:
    """How a field gets another value: the first of ``values`` that it does not have, or its number plus ``step``."""

    name: str
    table: str
    field: str
    values: tuple[str, ...] = ()
    step: int = 0
    # Types of the objects that the change changes in the ASIC.
    objects: tuple[str, ...] = ()
    # The value for a field that does not exist; None if only existing fields are changed.
    start: str | None = None

    def value_after(self, value: Value | None) -> Value | None:
        """Return another value than ``value``, which is None for a missing field; None if there is none to try."""
        if value is None:
            return self.start
        if not isinstance(value, str):
            # A list is tried without its last member.
            return value[:-1] or None
        if not self.step:
            return next((candidate for candidate in self.values if candidate != value), None)
        if not value.lstrip("-").isdecimal():
            return None
        return str(int(value) + self.step)


_MUTATIONS = (
    _Mutation("description", "PORT", "description", ("selftest",), start="selftest"),
    _Mutation("MTU lowered", "PORT", "mtu", step=-100, objects=("PORT",)),
    _Mutation("MTU raised", "PORT", "mtu", step=16, objects=("PORT",)),
    _Mutation("FEC", "PORT", "fec", ("none", "rs"), objects=("PORT",)),
    _Mutation("asymmetric PFC", "PORT", "pfc_asym", ("on", "off"), objects=("PORT",), start="on"),
    _Mutation("ECN threshold", "WRED_PROFILE", "green_min_threshold", step=-4096, objects=("WRED",)),
    _Mutation("ECN probability", "WRED_PROFILE", "green_drop_probability", ("90", "80"), objects=("WRED",)),
    _Mutation("share", "SCHEDULER", "weight", step=-1, objects=("SCHEDULER",)),
    _Mutation("code point", "DSCP_TO_TC_MAP", "1", ("0", "1"), objects=("QOS_MAP",)),
    _Mutation("queue of a class", "TC_TO_QUEUE_MAP", "1", ("0", "1"), objects=("QOS_MAP",)),
    _Mutation("lossless priorities", "PORT_QOS_MAP", "pfc_enable", ("3", "3,4"), objects=("PORT",)),
    _Mutation("watchdog action", "PFC_WD", "action", ("drop", "forward"), objects=("PFC_WD",)),
    _Mutation("watchdog time", "PFC_WD", "detection_time", step=100, objects=("PFC_WD",)),
    _Mutation("buffer threshold", "BUFFER_PROFILE", "dynamic_th", step=-1, objects=("BUFFER_PROFILE",)),
    _Mutation("headroom", "BUFFER_PROFILE", "xoff", step=-1024, objects=("BUFFER_PROFILE",)),
    _Mutation("shared headroom pool", "BUFFER_POOL", "xoff", step=-4096, objects=("BUFFER_POOL",)),
    _Mutation("hash fields", "SWITCH_HASH", "ecmp_hash", objects=("HASH",)),
    _Mutation("watchdog of new ports", "DEVICE_METADATA", "default_pfcwd_status", ("disable", "enable")),
    _Mutation("polling of counters", "FLEX_COUNTER_TABLE", "POLL_INTERVAL", step=1000),
)
"""The changes that are tried, of the first row that has the field."""

_ADDITIONS: tuple[tuple[str, str, str, Fields], ...] = (
    ("neighbor", "DEVICE_NEIGHBOR", "{port}", {"name": "selftest", "port": "Ethernet0"}),
    ("routed port", "INTERFACE", "{port}", {}),
    ("loopback", "LOOPBACK_INTERFACE", "Loopback97", {}),
    ("ACL type", "ACL_TABLE_TYPE", "SELFTEST",
     {"MATCHES": ("DSCP",), "ACTIONS": ("PACKET_ACTION",), "BIND_POINTS": ("PORT",)}),
    ("polling of resources", "CRM", "Config", {"polling_interval": "300"}),
)  # fmt: skip
"""Rows that are added and removed where the switch has no such row; ``{port}`` is the trial's port."""

_FRR_LINE = "ip prefix-list RAILWEAVE-SELFTEST seq 5 permit 192.0.2.0/24"
"""A line that nothing refers to (RFC 5737 documentation prefix)."""


def trials_of(config_db: ConfigDb, port: str, *, has_frr: bool) -> tuple[Trial, ...]:
    """Return the trials that this configuration allows on ``port``, one for each kind of change."""
    trials: list[Trial] = []
    for mutation in _MUTATIONS:
        trials += _mutated(mutation, config_db, port)
    for name, table, pattern, fields in _ADDITIONS:
        key = pattern.format(port=port)
        if key not in config_db.get(table, {}):
            addition = Edit(op=Op.ADD, table=table, key=key, field=None, before=None, after=fields)
            trials.append(_trial(name, addition, config_db))
    trials += _without_rate(config_db)
    trials += _another_cable(config_db, port)
    trials += _another_speed(config_db, port)
    if has_frr:
        addition = Edit(op=Op.ADD, table=FRR_TABLE, key="", field=_FRR_LINE, before=None, after=_FRR_LINE)
        trials.append(_trial("prefix list", addition, config_db))
    return tuple(trial for trial in trials if not _left_behind(trial.delta, config_db))


def _without_rate(config_db: ConfigDb) -> Iterator[Trial]:
    """Yield the removal of a rate limit, for which a scheduler is deleted and set again."""
    for key, row in config_db.get("SCHEDULER", {}).items():
        if "pir" in row:
            edit = Edit(op=Op.REMOVE, table="SCHEDULER", key=key, field="pir", before=row["pir"], after=None)
            yield _trial("rate limit", edit, config_db, ("SCHEDULER",))
            return


def _another_cable(config_db: ConfigDb, port: str) -> Iterator[Trial]:
    """Yield another length of the cable of ``port``, if the port has one and SONiC keeps nothing of the change."""
    cables = config_db.get("CABLE_LENGTH", {}).get("AZURE", {})
    if port not in cables:
        return
    other_length = "40m" if cables[port] == "5m" else "5m"
    edit = Edit(op=Op.UPDATE, table="CABLE_LENGTH", key="AZURE", field=port, before=cables[port], after=other_length)
    if not leaves_rows(edit, config_db):
        yield _trial("cable length", edit, config_db)


_WHOLE_CAGE = re.compile(r"1x\d+G(?:\(\d+\))?\[(?P<others>[0-9G, ]+)\]")
"""A breakout mode of one port in a cage, such as ``1x400G[200G,100G]``, with the port's other speeds."""
_MBPS_PER_GBPS = 1000


def _another_speed(config_db: ConfigDb, port: str) -> Iterator[Trial]:
    """Yield a lower speed of ``port``, or of the first other port that allows one and of which SONiC keeps nothing."""
    for name in dict.fromkeys((port, *config_db.get("PORT", {}))):
        before = config_db.get("PORT", {}).get(name, {}).get("speed")
        lower = _lower_speed(config_db, name, before)
        if lower is None:
            continue
        edit = Edit(op=Op.UPDATE, table="PORT", key=name, field="speed", before=before, after=lower)
        if not leaves_rows(edit, config_db):
            yield _trial("speed", edit, config_db, ("PORT",))
            return


def _lower_speed(config_db: ConfigDb, port: str, speed: Value | None) -> str | None:
    """Return the next lower speed, in Mb/s, that the breakout mode of a port's cage allows; None if there is none."""
    mode = config_db.get("BREAKOUT_CFG", {}).get(port, {}).get("brkout_mode")
    present_mbps = number(speed)
    if not isinstance(mode, str) or present_mbps is None:
        return None
    whole_cage = _WHOLE_CAGE.fullmatch(mode)
    if whole_cage is None:
        return None
    speeds_mbps = [int(speed.strip(" G")) * _MBPS_PER_GBPS for speed in whole_cage["others"].split(",")]
    lower_speeds_mbps = [speed_mbps for speed_mbps in speeds_mbps if speed_mbps < present_mbps]
    if not lower_speeds_mbps:
        return None
    return str(max(lower_speeds_mbps))


def _left_behind(delta: Delta, config_db: ConfigDb) -> set[tuple[str, str]]:
    """Return the rows (table, key) that differ from before once ``delta`` is applied and reverted.

    Fields whose removal SONiC's daemons ignore or crash on keep a neutral value (``sonic.neutral``).
    """
    before = RunningConfig(config_db, None)
    row_changes = Delta(tuple(change for change in delta if change.table != FRR_TABLE))
    after = applied(inverse(row_changes), applied(row_changes, before)).config_db
    differing = set()
    for change in row_changes:
        table, key = change.table, change.key
        if after.get(table, {}).get(key) != config_db.get(table, {}).get(key):
            differing.add((table, key))
    return differing


def _mutated(mutation: _Mutation, config_db: ConfigDb, port: str) -> Iterator[Trial]:
    """Yield the trial of a mutation on the first row that allows it, unless SONiC would keep something of it."""
    for key, row in _rows_of(config_db.get(mutation.table, {}), port):
        before = row.get(mutation.field)
        after = mutation.value_after(before)
        if after is None:
            continue
        op = Op.ADD if before is None else Op.UPDATE
        edit = Edit(op=op, table=mutation.table, key=key, field=mutation.field, before=before, after=after)
        if not leaves_rows(edit, config_db):
            yield _trial(mutation.name, edit, config_db, mutation.objects)
        return


def _rows_of(rows: Mapping[str, Fields], port: str) -> Iterator[tuple[str, Fields]]:
    """Yield the rows of a table that a trial may change: those of ``port``, then those of no port."""
    own = [key for key in rows if key.partition("|")[0] == port]
    shared = [key for key in rows if not key.startswith("Ethernet")]
    for key in (*own, *shared):
        yield key, rows[key]


def _trial(name: str, edit: Edit, config_db: ConfigDb, objects: tuple[str, ...] = ()) -> Trial:
    rule = None
    if edit.table != FRR_TABLE:
        rule = find_rule(edit)
    return Trial(name, judged([edit], config_db), rule, objects)


def class_trial(running: ConfigDb, intended: Sequence[Row], port: str) -> Trial | None:
    """Return a trial that adds what ``port`` lacks of the intent's rows of traffic classes.

    Edits that need a reload or would leave something behind are left out; None if no others remain.
    """
    edits = _class_edits(running, intended, port)
    without_reload = [edit for edit in edits if classify(edit).disruption is not Disruption.RELOAD]
    some_need_reload = len(without_reload) < len(edits)
    if some_need_reload:
        # Rows of buffers refer to pools and profiles that the switch would have only after the reload.
        without_reload = [edit for edit in without_reload if not edit.table.startswith("BUFFER_")]
    left_behind = _left_behind(judged(without_reload, running), running)
    revertible = [edit for edit in without_reload if (edit.table, edit.key) not in left_behind]
    if not revertible:
        return None
    return Trial("traffic classes", judged(revertible, running), None, ("QOS_MAP", "SCHEDULER"))


def _class_edits(running: ConfigDb, intended: Sequence[Row], port: str) -> list[Edit]:
    """Return the edits for the rows of traffic classes that concern ``port``, without those that leave rows behind."""
    edits: list[Edit] = []
    for row in intended:
        if row.table in QOS_TABLES and _is_for(row.key, port, running):
            present = running.get(row.table, {}).get(row.key)
            edits += row_edits(row.table, row.key, present, _without_leftovers(row, running))
    return [edit for edit in edits if not leaves_rows(edit, running)]


def _without_leftovers(row: Row, running: ConfigDb) -> Fields:
    """Return the fields of a row; lossless priorities are left out if SONiC would write rows for them that it keeps."""
    pauses = Edit(
        op=Op.ADD, table=row.table, key=row.key, field=PFC_ENABLE, before=None, after=row.fields.get(PFC_ENABLE)
    )
    if PFC_ENABLE not in row.fields or not leaves_rows(pauses, running):
        return row.fields
    return {name: value for name, value in row.fields.items() if name != PFC_ENABLE}


def _is_for(key: str, port: str, running: ConfigDb) -> bool:
    """Tell whether a row is about ``port``, or about no port at all."""
    name = key.partition("|")[0]
    return name == port or name not in running.get("PORT", {})


SHOWN_BY_DAEMONS = frozenset({("PORT", "autoneg"), ("PORT", "fec"), ("PORT", "mtu"), ("PORT", "speed")})
"""Fields by table of which APPL_DB tells what daemons took, also where there is no ASIC: of a port those that
railweave_switch/daemons.py compares. Of buffers and the hash it compares only what the platform has."""


def untried_rules(trials: Sequence[Trial]) -> tuple[TreatmentRule, ...]:
    """Return the rules that no trial is about."""
    tried = {id(trial.rule) for trial in trials}
    return tuple(rule for rule in RULES if id(rule) not in tried)
