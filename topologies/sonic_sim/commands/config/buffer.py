"""``config buffer`` and ``config interface buffer``: the dynamic buffer model (config/main.py)."""

import re
from functools import partial
from typing import Any, NamedTuple

from sonic_sim.commands.click7 import Group, Integer, Run, argument, option
from sonic_sim.commands.config.interface import interface, name_argument
from sonic_sim.commands.config.root import config
from sonic_sim.configdb import Hash
from sonic_sim.databases import STATE, rows_of_database

_INGRESS_POOL = "BUFFER_POOL|ingress_lossless_pool"
_DEFAULTS = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
_MAXIMUM = "BUFFER_MAX_PARAM_TABLE"


def _check_model(run: Run, word: str) -> None:
    """Refuse the command on a switch without the dynamic buffer model; ``word`` is the verb of the message."""
    if run.db.get("DEVICE_METADATA|localhost").get("buffer_model") != "dynamic":
        run.fail(f"This command can only be {word} on a system with dynamic buffer enabled")


@config.branching("buffer", "Configure buffer_profile")
def buffer(run: Run) -> None:
    _check_model(run, "supported")


@interface.branching("buffer", "Set or clear buffer configuration")
def interface_buffer(run: Run) -> None:
    _check_model(run, "executed")


lossless = interface_buffer.branch("priority-group", "Set or clear buffer configuration").branch(
    "lossless", "Set or clear lossless PGs"
)
queue = interface_buffer.branch("queue", "Set or clear buffer configuration")


def _add_commands(group: Group, table: str, noun: str, *, ids: str, profile: str, needs_profile: bool) -> None:
    """Add the commands for the priority groups or the queues of a port, whose rows are in ``table``.

    ``noun`` names them in help texts; ``ids`` and ``profile`` are the names of the arguments.
    """

    def update(run: Run, interface_name: str, *, is_new: bool, **values: str | None) -> None:
        _check_port(run, interface_name)
        numbers = values[ids] or ""
        _check_ids(run, table, interface_name, numbers, is_new=is_new)
        _check_profile(run, table, values[profile])
        # Without a profile the buffer manager makes one: NULL asks for it.
        run.db.put(f"{table}|{interface_name}|{numbers}", {"profile": values[profile] or "NULL"})
        if table == "BUFFER_PG":
            _adjust_pfc(run, interface_name, numbers, add=True)

    params = (name_argument, argument(ids, metavar=f"<{ids}>"),
              argument(profile, metavar=f"<{profile}>", required=needs_profile))  # fmt: skip
    text = f"Set lossless {noun} for the interface"
    # `add` refuses what is there, `set` what is not.
    group.leaf("add", text, *params)(partial(update, is_new=True))
    group.leaf("set", text, *params)(partial(update, is_new=False))

    # SONiC leaves the bracket of the group's metavar open.
    metavar = f"<{ids}" if table == "BUFFER_PG" else f"<{ids}>"

    @group.leaf("remove", f"Clear lossless {noun} for the interface", name_argument,
                argument(ids, metavar=metavar, required=False))  # fmt: skip
    def remove(run: Run, interface_name: str, **values: str | None) -> None:
        _remove(run, table, interface_name, values[ids])


def _check_port(run: Run, name: str) -> None:
    if not run.db.get(f"PORT|{name}"):
        run.fail(f"Port {name} doesn't exist")


class _IdRange(NamedTuple):
    """The first and the last number of groups or queues."""

    first: int
    last: int


def _id_range(text: str) -> _IdRange | None:
    """Return the numbers of ``3`` or ``3-4``; None for any other text."""
    numbers = re.search(r"^([0-9]+)(?:-([0-9]+))?$", text)
    if numbers is None:
        return None
    first = int(numbers[1])
    last = int(numbers[2] or first)
    return _IdRange(first, last)


def _check_ids(run: Run, table: str, port: str, text: str, *, is_new: bool) -> None:
    """Refuse numbers that the port does not have.

    New ones are refused if they overlap others, and those that are not new if they have no row.
    """
    noun = "queue"
    field = "max_queues"
    if table == "BUFFER_PG":
        noun = "priority group"
        field = "max_priority_groups"
    key = f"{_MAXIMUM}|{port}"
    count = rows_of_database(run.device, STATE, key).get(key, {}).get(field, "")
    if not count.isdigit():
        run.fail(f"Unable to fetch {field} from {key} in STATE_DB")
    ids = _id_range(text)
    # SONiC takes 0 for a missing number, so group 0 cannot be configured.
    if ids is None or 0 in ids or not ids.first <= ids.last < int(count):
        run.fail(f"Buffer {noun} {text} is not valid.")
    if not is_new:
        if f"{table}|{port}|{text}" not in run.db.rows:
            run.fail(f"Buffer {noun} {text} doesn't exist")
        return
    for key in sorted(run.db.table(table)):
        name, _, existing_text = key.partition("|")
        existing_ids = _id_range(existing_text)
        if name == port and existing_ids is not None and _overlap(existing_ids, ids):
            run.fail(f"Buffer {noun} {text} overlaps with existing {noun} {existing_text}")


def _overlap(a: _IdRange, b: _IdRange) -> bool:
    return a.last >= b.first and a.first <= b.last


def _check_profile(run: Run, table: str, name: str | None) -> None:
    """Refuse a profile that is not there, that is of a pool in the other direction, or that is not lossless."""
    if not name:
        return
    row = run.db.get(f"BUFFER_PROFILE|{name}")
    if not row:
        run.fail(f"Profile {name} doesn't exist")
    if not row.get("pool"):
        run.fail(f"Profile {name} is invalid")
    direction = "ingress" if table == "BUFFER_PG" else "egress"
    if run.db.get(f"BUFFER_POOL|{row['pool']}").get("type") != direction:
        run.fail(f"Type of pool {row['pool']} referenced by profile {name} is wrong")
    if table == "BUFFER_PG" and "xoff" not in row and "size" in row:
        run.fail(f"Profile {name} doesn't exist or isn't a lossless profile")


def _adjust_pfc(run: Run, port: str, ids: str | None, *, add: bool) -> None:
    """Enable PFC on the priorities ``ids`` of a port, or disable it; without ``ids`` on all that have it."""
    key = f"PORT_QOS_MAP|{port}"
    row = run.db.get(key)
    enabled = {int(priority) for priority in row.get("pfc_enable", "").split(",") if priority}
    priorities = enabled
    if ids:
        # From the first digit of the text to the last, as config/main.py reads it.
        priorities = set(range(int(ids[0]), int(ids[-1]) + 1))
    enabled_after = enabled | priorities if add else enabled - priorities
    run.db.put(key, {**row, "pfc_enable": ",".join(map(str, sorted(enabled_after)))})


def _remove(run: Run, table: str, port: str, ids: str | None) -> None:
    """Remove the groups or queues ``ids`` of a port, or all of them without ``ids``."""
    _check_port(run, port)
    removed = False
    for key, row in sorted(run.db.table(table).items()):
        name, _, ids_of_row = key.partition("|")
        if name != port or (ids and ids != ids_of_row):
            continue
        if row.get("profile") == "ingress_lossy_profile":
            if ids:
                run.fail(f"Lossy PG {ids} can't be removed")
            continue
        run.db.delete(f"{table}|{key}")
        if table == "BUFFER_PG":
            _adjust_pfc(run, port, ids, add=False)
        removed = True
    if removed:
        return
    noun = "lossless priority group" if table == "BUFFER_PG" else "queue"
    if ids:
        run.fail(f"No specified {noun} {ids} found on port {port}")
    run.fail(f"No {noun} found on port {port}")


_add_commands(lossless, "BUFFER_PG", "PGs", ids="pg_map", profile="override_profile", needs_profile=False)
_add_commands(queue, "BUFFER_QUEUE", "QUEUEs", ids="queue_map", profile="buffer_profile", needs_profile=True)

profile = buffer.branch("profile", "Configure buffer profile")
_name = argument("profile", metavar="<profile>")
_settings = (
    option("--xon", metavar="<xon>", type=Integer(), help="Set xon threshold"),
    option("--xoff", metavar="<xoff>", type=Integer(), help="Set xoff threshold"),
    option("--size", metavar="<size>", type=Integer(), help="Set reserved size size"),
    option("--dynamic_th", metavar="<dynamic_th>", help="Set dynamic threshold"),
    option("--pool", metavar="<pool>", help="Buffer pool"),
)


@profile.leaf("add", "Add or modify a buffer profile", _name, *_settings)
def profile_add(run: Run, profile: str, **settings: Any) -> None:
    if run.db.get(f"BUFFER_PROFILE|{profile}"):
        run.fail(f"Profile {profile} already exist")
    _write_profile(run, profile, {}, **settings)


@profile.leaf("set", "Add or modify a buffer profile", _name, *_settings)
def profile_set(run: Run, profile: str, **settings: Any) -> None:
    row = run.db.get(f"BUFFER_PROFILE|{profile}")
    if not row:
        run.fail(f"Profile {profile} doesn't exist")
    if "xoff" not in row and settings["xoff"]:
        run.fail(f"Can't change profile {profile} from dynamically calculating headroom to non-dynamically one")
    _write_profile(run, profile, row, **settings)


def _shares_headroom(run: Run) -> bool:
    """Tell whether the switch has a shared headroom pool."""
    if "xoff" in run.db.get(_INGRESS_POOL):
        return True
    rows = run.db.table(_DEFAULTS)
    if not rows:
        run.fail(f"Dynamic buffer calculation is enabled while no entry found in {_DEFAULTS} table")
    return rows[min(rows)].get("over_subscribe_ratio", "0") not in ("", "0")


def _write_profile(run: Run, name: str, row: Hash, dynamic_th: str | None, pool: str | None, **sizes: int) -> None:
    """Write a profile with the sizes that are given. Without any SONiC computes the headroom by ``dynamic_th``."""
    shares_headroom = _shares_headroom(run)
    row["pool"] = pool or "ingress_lossless_pool"
    if not run.db.get(f"BUFFER_POOL|{row['pool']}"):
        run.fail(f"Pool {row['pool']} doesn't exist")
    row.update({field: str(value) for field, value in sizes.items() if value})
    if not any(row.get(field) for field in ("xon", "xoff", "size")):
        if not dynamic_th:
            run.fail("Either size information (xon, xoff, size) or dynamic_th needs to be provided")
        row |= {"headroom_type": "dynamic", "dynamic_th": dynamic_th}
    else:
        _complete(run, row, shares_headroom=shares_headroom)
        if dynamic_th:
            row["dynamic_th"] = dynamic_th
        elif not row.get("dynamic_th"):
            row["dynamic_th"] = _default_threshold(run)
    run.db.put(f"BUFFER_PROFILE|{name}", row)


def _complete(run: Run, row: Hash, *, shares_headroom: bool) -> None:
    """Add the sizes of a profile that follow from the others, in bytes."""
    if not row.get("xon"):
        run.fail("Xon is mandatory for non-dynamic profile")
    if not row.get("xoff"):
        if shares_headroom:
            run.fail("Shared headroom pool is enabled, xoff is mandatory for non-dynamic profile")
        if not row.get("size"):
            run.fail("Neither xoff nor size is provided")
        xoff = int(row["size"]) - int(row["xon"])
        if xoff <= 0:
            wrong = f"(calculated by: size {row['size']} - xon {row['xon']})"
            run.fail(f"The xoff must be greater than 0 while we got {xoff} {wrong}")
        row["xoff"] = str(xoff)
    if not row.get("size"):
        # With a shared headroom pool the room for xoff is not reserved in each group.
        reserved = int(row["xon"])
        if not shares_headroom:
            reserved += int(row["xoff"])
        row["size"] = str(reserved)


def _default_threshold(run: Run) -> str:
    """Return the dynamic threshold of a profile that states none."""
    rows = list(run.db.table(_DEFAULTS).values())
    if len(rows) != 1:
        run.fail(f"Multiple entries are found in {_DEFAULTS} while no dynamic_th specified")
    if "default_dynamic_th" not in rows[0]:
        run.fail(f"No dynamic_th defined in {_DEFAULTS}")
    return rows[0]["default_dynamic_th"]


@profile.leaf("remove", "Delete a buffer profile", _name)
def profile_remove(run: Run, profile: str) -> None:
    for key, row in sorted(run.db.table("BUFFER_PG").items()):
        if row.get("profile") == profile:
            run.fail(f"Profile {profile} is referenced by {key} and can't be removed")
    if not run.db.delete(f"BUFFER_PROFILE|{profile}"):
        run.fail(f"Profile {profile} doesn't exist")


pool = buffer.branch("shared-headroom-pool", "Configure buffer shared headroom pool")


@pool.leaf("over-subscribe-ratio", "Configure over subscribe ratio",
           argument("ratio", metavar="<ratio>", type=Integer()))  # fmt: skip
def ratio(run: Run, ratio: int) -> None:
    ports = len(run.db.table("PORT"))
    if not 0 <= ratio <= ports:
        run.fail(f"Invalid over-subscribe-ratio value {ratio}. It should be in range [0, {ports}]")
    for index, (key, row) in enumerate(sorted(run.db.table(_DEFAULTS).items())):
        if index > 0:
            run.fail(f"More than one item in {_DEFAULTS} table. Only the first one is updated")
        _set_or_remove(run, f"{_DEFAULTS}|{key}", row, "over_subscribe_ratio", ratio)


@pool.leaf("size", "Configure shared headroom pool size", argument("size", metavar="<size>", type=Integer()))
def size(run: Run, size: int) -> None:
    key = f"{_MAXIMUM}|global"
    most = rows_of_database(run.device, STATE, key).get(key, {}).get("mmu_size")
    if most and int(most) < size:
        run.fail(f"Shared headroom pool must be less than mmu size ({most})")
    _set_or_remove(run, _INGRESS_POOL, run.db.get(_INGRESS_POOL), "xoff", size)


def _set_or_remove(run: Run, key: str, row: Hash, field: str, value: int) -> None:
    """Write a field, or remove it for 0."""
    fields = {**row, field: str(value)}
    if value == 0:
        del fields[field]
    run.db.put(key, fields)
