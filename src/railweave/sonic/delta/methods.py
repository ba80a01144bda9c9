"""How the edits of one device are carried out, and what they disturb: the rules (``rules``) applied to all of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from railweave.sonic.delta.change import Change, Disruption, Edit, Method, Op
from railweave.sonic.delta.daemon_rows import made_between
from railweave.sonic.delta.frr_methods import line_disruption
from railweave.sonic.delta.leaf_words import is_modeled
from railweave.sonic.delta.lossless import PFC_ENABLE
from railweave.sonic.delta.rules import PUNTED, ROW, Treatment, find_rule
from railweave.sonic.delta.spans import SPANNED, cleared_rows
from railweave.sonic.delta.tables import tables_after
from railweave.sonic.frr import FrrEntry
from railweave.sonic.frr.delta import RouterNeighbor, owner
from railweave.sonic.frr.lines import defined_neighbor
from railweave.sonic.neutral import is_permanent
from railweave.sonic.ownership import PRIORITY_GROUPS, port_of
from railweave.sonic.rows import FRR_TABLE, ConfigDb

PATCH_EDITS_MAX = 20
"""Most edits that go by ``config apply-patch``: each is one step of 0.33 to 0.42 s on a fast CPU, several times that on
a switch's (sonic-recorded timing); above it the same edits are written directly."""


def classify(edit: Edit) -> Treatment:
    """Return the treatment of one change on its own; ``treatments`` considers the device's other changes too."""
    if edit.table == FRR_TABLE:
        return Treatment(line_disruption(edit.key, edit.field or "", edit.op), Method.FRR)
    if edit.table == "PORT" and edit.field == "admin_status":
        return _PORT_UP if edit.after == "up" else _PORT_DOWN
    rule = find_rule(edit)
    if rule is not None:
        return Treatment(rule.disruption, rule.method)
    # SONiC's updater refuses a table without a YANG model.
    if is_modeled(edit.table):
        return UNKNOWN_PATCHED
    return UNKNOWN_WRITTEN


def effect_is_unknown(change: Change) -> bool:
    """Tell whether it is unknown what SONiC's daemons do with a change before the next reload: no rule says it."""
    if change.method is Method.RELOAD or change.table == FRR_TABLE:
        return False
    if change.table == "PORT" and change.field == "admin_status":
        return False
    return find_rule(change) is None


UNKNOWN_PATCHED = Treatment(Disruption.FLAP, Method.PATCH)
UNKNOWN_WRITTEN = Treatment(Disruption.FLAP, Method.WRITE)
_PORT_UP = Treatment(Disruption.NONE, Method.PATCH)
_PORT_DOWN = Treatment(Disruption.FLAP, Method.PATCH)


_BOTH_ENDS: Mapping[str, frozenset[str] | None] = {
    "PORT": frozenset({ROW, "autoneg", "fec", "lanes", "link_training", "speed", "subport"}),
    "BREAKOUT_CFG": None,
    "INTERFACE": None,
}
"""Tables and fields (None: all) that both ends of a link have to agree on: the link is down while they differ."""
_BOTH_ENDS_LINE = re.compile(r"^(router bgp|neighbor \S+ (remote-as|password|local-as))\b")


def needs_both_ends(edits: Iterable[Edit]) -> bool:
    """Tell whether ``edits`` change or remove settings that both ends of a link or session must agree on."""
    return any(_is_of_both_ends(edit) for edit in edits if edit.op is not Op.ADD)


def _is_of_both_ends(edit: Edit) -> bool:
    if edit.table == FRR_TABLE:
        return _BOTH_ENDS_LINE.match(edit.field or "") is not None
    return is_link_setting(edit)


def is_link_setting(edit: Edit) -> bool:
    """Tell whether ``edit`` is about a port setting or an address that both ends of a link must agree on."""
    if edit.table not in _BOTH_ENDS:
        return False
    fields = _BOTH_ENDS[edit.table]
    return fields is None or (edit.field or ROW) in fields


def treatments(edits: Sequence[Edit], config_db: ConfigDb) -> tuple[Treatment, ...]:
    """Return the treatment of each edit, given all edits of the device and its running tables.

    If one edit needs a reload, all are carried out by it. If there are too many patches, or if the configuration does
    not accept any, patches become direct writes.
    """
    new_neighbors = _new_neighbors(edits)
    clearing_edits = _clearing_edits(edits, config_db)
    single_treatments: list[Treatment] = []
    for edit in edits:
        treatment = _with_new_neighbors(edit, new_neighbors)
        if _place(edit) in clearing_edits:
            treatment = CLEARS
        # One reload carries out everything. A watchdog's row without its port is left to a reload too: deleting it
        # crashes orchagent (run on 202505; SW pfcwdorch.cpp).
        if treatment.method is Method.RELOAD or _watches_no_port(edit, config_db):
            return (RELOADED,) * len(edits)
        single_treatments.append(treatment)
    patches = sum(treatment.method is Method.PATCH for treatment in single_treatments)
    # Whether the configuration accepts patches takes longest to find out, so it is tested last.
    if patches and (patches > PATCH_EDITS_MAX or not accepts_patches(config_db)):
        return tuple(map(written, single_treatments))
    return tuple(single_treatments)


RELOADED = Treatment(Disruption.RELOAD, Method.RELOAD)
# A row is removed while others name some of its groups or queues: these have no buffer or scheduler for a moment,
# whatever the order, because a deletion clears the whole range (SW orchagent/bufferorch.cpp processPriorityGroup,
# processQueue, qosorch.cpp handleQueueTable).
CLEARS = Treatment(Disruption.FLAP, Method.WRITE)


def is_of_the_cpu(change: Edit) -> bool:
    """Tell whether a change is about the packets that go to the switch's own CPU."""
    return change.table in PUNTED


def sets_queues_anew(change: Edit) -> bool:
    """Tell whether a change disturbs groups and queues that are deleted and set again, rather than a port."""
    return change.table in SPANNED or change.table in (_PORT_MAP, "SCHEDULER")


_PORT_MAP = "PORT_QOS_MAP"
_Place = tuple[str, str, str | None]
"""Table, key and field of an edit."""


def _place(edit: Edit) -> _Place:
    return edit.table, edit.key, edit.field


def _clearing_edits(edits: Sequence[Edit], config_db: ConfigDb) -> set[_Place]:
    """Return the places of the edits that clear priority groups or queues of rows that stay."""
    if not any(edit.table in SPANNED or edit.field == PFC_ENABLE for edit in edits):
        return set()
    after = tables_after(edits, config_db)
    clearing: set[_Place] = set()
    # A row that buffermgrd adds meanwhile has no edit in the plan, so the edit counts that makes buffermgrd add it.
    removals = made_between(edits, config_db, after)
    for key in cleared_rows(removals, after.get(PRIORITY_GROUPS, {})):
        clearing.add((_PORT_MAP, port_of(key), PFC_ENABLE))
    for table in SPANNED:
        table_edits = [edit for edit in edits if edit.table == table]
        for key in cleared_rows(table_edits, after.get(table, {})):
            clearing.add((table, key, None))
    return clearing


@lru_cache(maxsize=64)
def written(treatment: Treatment) -> Treatment:
    """Return the treatment with a direct write in place of a patch."""
    if treatment.method is Method.PATCH:
        return replace(treatment, method=Method.WRITE)
    return treatment


def _watches_no_port(edit: Edit, config_db: ConfigDb) -> bool:
    """Tell whether an edit is about the PFC watchdog of a port that the running tables do not have."""
    if edit.table != "PFC_WD" or is_permanent(edit.table, edit.key):
        return False
    return edit.key not in config_db.get("PORT", {})


def accepts_patches(config_db: ConfigDb) -> bool:
    """Tell whether GCU can work on this configuration at all."""
    lanes: list[str] = []
    for port in config_db.get("PORT", {}).values():
        lanes += [lane.strip() for lane in str(port.get("lanes", "")).split(",") if lane.strip()]
    # It refuses every patch while two ports have a lane in common, as on platforms with shared lanes.
    if len(lanes) != len(set(lanes)):
        return False
    # `config interface breakout -f` leaves the text None as the length of a port that it removed (run on 202505).
    return not any("None" in row.values() for row in config_db.get("CABLE_LENGTH", {}).values())


def _new_neighbors(edits: Iterable[Edit]) -> set[RouterNeighbor | None]:
    """Return the neighbors of FRR that the edits add, without those that are removed and added again."""
    definitions = [edit for edit in edits if edit.table == FRR_TABLE and defined_neighbor(edit.field or "")]
    removed = {_owner(edit) for edit in definitions if edit.op is Op.REMOVE}
    added = {_owner(edit) for edit in definitions if edit.op is Op.ADD}
    return added - removed - {None}


def _owner(edit: Edit) -> RouterNeighbor | None:
    return owner(FrrEntry(edit.key, edit.field or ""))


def _with_new_neighbors(edit: Edit, new_neighbors: set[RouterNeighbor | None]) -> Treatment:
    """Return the treatment of one edit on its own; an added line of one of ``new_neighbors`` disturbs nothing."""
    treatment = classify(edit)
    if edit.table == FRR_TABLE and edit.op is Op.ADD and _owner(edit) in new_neighbors:
        # A new neighbor has no session to lose.
        return Treatment(Disruption.NONE, treatment.method)
    return treatment
