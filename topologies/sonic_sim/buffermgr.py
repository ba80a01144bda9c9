"""buffermgrd of the traditional buffer model: it writes lossless profiles into CONFIG_DB (buffermgr.cpp)."""

from typing import NamedTuple

from sonic_sim.configdb import ConfigDb, Hash

_XON_BYTES = "18432"
_SIZE_BYTES = "18432"
_THRESHOLD = "0"
# ``pg_profile_lookup.ini``: headroom in bytes by speed (Mb/s) and cable length, the values of one 400G platform. A
# profile that is there already is of a line of the file, too.
_XOFF_BYTES = {
    ("10000", "5m"): "35776", ("25000", "5m"): "53248", ("40000", "5m"): "43264", ("50000", "5m"): "53248",
    ("100000", "5m"): "165568", ("200000", "5m"): "205000", ("400000", "5m"): "307848", ("800000", "5m"): "572516",
    ("10000", "40m"): "36608", ("25000", "40m"): "55328", ("40000", "40m"): "46592", ("50000", "40m"): "55328",
    ("100000", "40m"): "177632", ("200000", "40m"): "225000", ("400000", "40m"): "330200", ("800000", "40m"): "614172",
    ("10000", "300m"): "39312", ("25000", "300m"): "63024", ("40000", "300m"): "60608", ("50000", "300m"): "70000",
    ("100000", "300m"): "268736", ("200000", "300m"): "330000", ("400000", "300m"): "499618",
}  # fmt: skip


class SeenPort(NamedTuple):
    """A port when the buffer manager last looked: its row, and its lossless priorities.

    ``length`` is that of its cable, empty in releases that do not follow it.
    """

    row: Hash
    priorities: str
    length: str


Seen = dict[str, SeenPort]
"""What the buffer manager saw last, by port."""

_NO_CABLE = "0m"
# The release from which a new cable length is an event of its own (doCableTask).
_FOLLOWS_LENGTHS = "202511"


def make_lossless_rows(db: ConfigDb, seen: Seen, release: str = "202505") -> None:
    """Write the profile and priority groups of every port whose row or ``pfc_enable`` changed since it was ``seen``.

    Any field of the row counts, and nothing else, as in the daemon: before 202511 a new cable length takes effect only
    with the next such change, and so does a group that someone deletes (sonic-swss cfgmgr/buffermgr.cpp doTask,
    doPortQosTableTask, doSpeedUpdateTask).
    """
    metadata = db.get("DEVICE_METADATA|localhost")
    pool = db.get("BUFFER_POOL|ingress_lossless_pool")
    if metadata.get("buffer_model", "traditional") != "traditional" or not pool:
        return
    lengths = db.get("CABLE_LENGTH|AZURE")
    for port, row in db.table("PORT").items():
        length = lengths.get(port, _NO_CABLE)
        last = seen.get(port)
        last_priorities = "" if last is None else last.priorities
        # A ``pfc_enable`` that is removed stays in force, an empty one ends it.
        priorities = db.get(f"PORT_QOS_MAP|{port}").get("pfc_enable", last_priorities)
        followed_length = ""
        if release >= _FOLLOWS_LENGTHS:
            followed_length = length
        present = SeenPort(dict(row), priorities, followed_length)
        # A port without a stated ``admin_status`` waits.
        if present == last or "admin_status" not in row:
            continue
        seen[port] = present
        if not priorities or length == _NO_CABLE:
            continue
        profile = _lossless_profile(db, pool, row.get("speed", ""), length)
        if profile:
            _write_groups(db, port, groups(priorities), profile)


def _lossless_profile(db: ConfigDb, pool: Hash, speed: str, length: str) -> str:
    """Return the profile of a speed and cable length, which is written unless it is there.

    Empty if none can be made: the lookup table does not have them, or the pool has no mode.
    """
    profile = f"pg_lossless_{speed}_{length}_profile"
    if f"BUFFER_PROFILE|{profile}" in db.rows:
        return profile
    headroom = _XOFF_BYTES.get((speed, length))
    if headroom is None or "mode" not in pool:
        return ""
    fields = {"pool": "ingress_lossless_pool", "xon": _XON_BYTES, "xoff": headroom, "size": _SIZE_BYTES}
    db.put(f"BUFFER_PROFILE|{profile}", {**fields, f"{pool['mode']}_th": _THRESHOLD})
    return profile


def _write_groups(db: ConfigDb, port: str, numbers: list[str], profile: str) -> None:
    """Give priority groups of a port a profile; ``numbers`` are such as ``3`` or ``3-4``."""
    for number in numbers:
        key = f"BUFFER_PG|{port}|{number}"
        if db.get(key).get("profile") != profile:
            db.put(key, {"profile": profile})


def groups(priorities: str) -> list[str]:
    """Return the priority groups of a list of priorities, adjacent ones as a range: ``3,4,6`` gives ``3-4``, ``6``."""
    numbers = sorted(int(text) for text in priorities.split(",") if text.strip().isdigit())
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return [_range(members) for members in ranges]


def _range(numbers: list[int]) -> str:
    """Return adjacent numbers as a key has them: ``3``, or ``3-4`` for several."""
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{numbers[0]}-{numbers[-1]}"
