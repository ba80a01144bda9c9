"""buffermgrd of the traditional buffer model: it writes lossless profiles into CONFIG_DB (buffermgr.cpp)."""

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


# Of each port its row, the last ``pfc_enable`` that was stated for it and, where that counts, its cable's length, when
# the buffer manager last looked.
Seen = dict[str, tuple[Hash, str, str]]

_NO_CABLE = "0m"
# The release from which a new cable length is an event of its own (doCableTask).
_FOLLOWS_LENGTHS = "202511"


def make_lossless_rows(db: ConfigDb, seen: Seen, release: str = "202505") -> None:
    """Write the profile and priority groups of every port whose own row or ``pfc_enable`` is other than ``seen``.

    Like the daemon it wakes only for these, whatever field of the port it is: before 202511 a new cable length waits,
    and so does a group that someone deletes (sonic-swss cfgmgr/buffermgr.cpp doTask, doPortQosTableTask,
    doSpeedUpdateTask).
    """
    metadata = db.get("DEVICE_METADATA|localhost")
    pool = db.get("BUFFER_POOL|ingress_lossless_pool")
    if metadata.get("buffer_model", "traditional") != "traditional" or not pool:
        return
    lengths = db.get("CABLE_LENGTH|AZURE")
    for port, row in db.table("PORT").items():
        length = lengths.get(port, _NO_CABLE)
        _, stated, _ = seen.get(port, ({}, "", ""))
        # A ``pfc_enable`` that is removed goes on, an empty one does not.
        priorities = db.get(f"PORT_QOS_MAP|{port}").get("pfc_enable", stated)
        followed_length = ""
        if release >= _FOLLOWS_LENGTHS:
            followed_length = length
        state = (dict(row), priorities, followed_length)
        # A port without a stated ``admin_status`` waits.
        if seen.get(port) == state or "admin_status" not in row:
            continue
        seen[port] = state
        # A cable of 0 m says that there is none.
        if priorities and length != _NO_CABLE:
            _make_groups(db, port, groups(priorities), (row.get("speed", ""), length), pool)


def _make_groups(db: ConfigDb, port: str, spans: list[str], speed_and_length: tuple[str, str], pool: Hash) -> None:
    """Write the groups of a port with the profile of its speed and cable length."""
    speed, length = speed_and_length
    profile = f"pg_lossless_{speed}_{length}_profile"
    if f"BUFFER_PROFILE|{profile}" not in db.rows:
        headroom = _XOFF_BYTES.get(speed_and_length)
        if headroom is None or "mode" not in pool:
            return
        fields = {"pool": "ingress_lossless_pool", "xon": _XON_BYTES, "xoff": headroom, "size": _SIZE_BYTES}
        db.put(f"BUFFER_PROFILE|{profile}", {**fields, f"{pool['mode']}_th": _THRESHOLD})
    for span in spans:
        key = f"BUFFER_PG|{port}|{span}"
        if db.get(key).get("profile") != profile:
            db.put(key, {"profile": profile})


def groups(priorities: str) -> list[str]:
    """Return the priority groups of a list of priorities, neighbors joined: ``3,4`` gives ``3-4``."""
    numbers = sorted(int(text) for text in priorities.split(",") if text.strip().isdigit())
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    texts = []
    for span in spans:
        text = str(span[0])
        if len(span) > 1:
            text += f"-{span[-1]}"
        texts.append(text)
    return texts
