"""Contradictions in the buffer rows of a switch, down to the pool and the chip."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from railweave.qos.mmu.pools import POOL_EXHAUSTED

if TYPE_CHECKING:
    from railweave.sonic.resolved import ResolvedTables
    from railweave.sonic.rows import ConfigDb, Fields

_USERS = ("BUFFER_PG", "BUFFER_QUEUE")
_COMPUTED = "NULL"
_SHARED = ("BUFFER_POOL", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN")
"""Tables whose rows count for all ports."""
_MOST_DIGITS = 18
"""Longer numbers of bytes are not read: Python refuses to convert thousands of digits."""
_ROUNDING = 1.05
"""Vendors publish a chip's buffer in rounded megabytes; templates state up to 1 % more."""


class BufferFault(NamedTuple):
    """A row (or the first of several), what is wrong with it, and the fix."""

    row: str
    what: str
    fix: str


def buffer_faults(tables: "ConfigDb", chip_bytes: int | None) -> Iterator[BufferFault]:
    """Yield the faults of a switch's buffer rows; ``chip_bytes`` is its chip's whole buffer, None if unknown."""
    yield from _pool_faults(tables, chip_bytes)
    yield from _profile_faults(tables)
    yield from _missing_profiles(tables)
    yield from _exhausted_pools(tables)


def buffer_differences(read: "ResolvedTables", design: "ResolvedTables") -> Iterator[BufferFault]:
    """Yield a fault for each row that counts for all ports, and for the buffer model, that differs from the design.

    Nothing is compared if the design has no buffer pools.
    """
    if not design.table("BUFFER_POOL"):
        return
    if read.knows("DEVICE_METADATA") and read.model is not design.model:
        what = f"is {read.model}, by design {design.model}"
        yield BufferFault(
            "the buffer model", what, f"set DEVICE_METADATA|localhost|buffer_model {design.model}, reload"
        )
    for table in _SHARED:
        if table in design.tables and read.knows(table):
            for key in {**design.table(table), **read.table(table)}:
                yield from _row_differences(table, key, read, design)


def _row_differences(table: str, key: str, read: "ResolvedTables", design: "ResolvedTables") -> Iterator[BufferFault]:
    """Yield a fault if a row differs from the design; it names all fields that differ."""
    actual = _without_zeros(read.row(table, key))
    designed = _without_zeros(design.row(table, key))
    differences = [
        f"{name} {actual.get(name, 'not set')}, by design {designed.get(name, 'not set')}"
        for name in {**designed, **actual}
        if actual.get(name) != designed.get(name)
    ]
    if not differences:
        return
    if key not in design.table(table):
        what = "is not a row of the design"
    elif key not in read.table(table):
        what = "is not there"
    else:
        what = f"has {'; '.join(differences)}"
    yield BufferFault(f"{table}|{key}", what, "write it as rendered, and reload,")


def _without_zeros(row: "Fields") -> "Fields":
    """Return a row without its fields of 0."""
    # A field of 0 means the same as none: xoff, for instance, is set to 0 where it should be removed.
    return {name: value for name, value in row.items() if value != "0"}


def _table(tables: "ConfigDb", name: str) -> Mapping[str, Mapping[str, object]]:
    return tables.get(name, {})


def _bytes(row: Mapping[str, object], field: str) -> int | None:
    """Return a number of bytes; None if the field is missing, not a number, or too long a number."""
    value = row.get(field)
    if not isinstance(value, str) or not value.isdecimal() or len(value) > _MOST_DIGITS:
        return None
    return int(value)


def _pool_faults(tables: "ConfigDb", chip_bytes: int | None) -> Iterator[BufferFault]:
    """Yield a fault for each pool that is too small for its headroom, or larger than the chip's buffer."""
    for name, row in _table(tables, "BUFFER_POOL").items():
        size = _bytes(row, "size")
        xoff = _bytes(row, "xoff")
        if size is None:
            continue
        pool = f"BUFFER_POOL|{name}"
        if xoff is not None and xoff >= size:
            yield BufferFault(pool, f"has a headroom pool of {xoff} bytes in {size}", "raise size, or lower xoff")
        if chip_bytes is not None and size > _ROUNDING * chip_bytes:
            yield BufferFault(pool, f"has {size} bytes, the chip {chip_bytes}", "lower size to what the chip has")


def _profile_faults(tables: "ConfigDb") -> Iterator[BufferFault]:
    """Yield a fault for each profile without an existing pool or exactly one threshold, and those of its headroom."""
    pools = _table(tables, "BUFFER_POOL")
    for name, row in _table(tables, "BUFFER_PROFILE").items():
        profile = f"BUFFER_PROFILE|{name}"
        pool = str(row.get("pool"))
        if pool not in pools:
            existing = ", ".join(sorted(pools)) or "none"
            yield BufferFault(
                profile, f"is of pool {pool}, which is not there", f"name a pool of the switch ({existing}), or add it"
            )
            continue
        thresholds = [field for field in ("dynamic_th", "static_th") if field in row]
        if len(thresholds) != 1:
            yield BufferFault(
                profile, f"states {' and '.join(thresholds) or 'no threshold'}", "state dynamic_th or static_th"
            )
        yield from _headroom_faults(profile, row, pool, pools[pool])


def _headroom_faults(
    profile: str, profile_row: Mapping[str, object], pool: str, pool_row: Mapping[str, object]
) -> Iterator[BufferFault]:
    """Yield a fault if the headroom of a profile is in an egress pool, or has no room in its pool."""
    xoff = _bytes(profile_row, "xoff")
    size = _bytes(profile_row, "size") or 0
    if not xoff:
        return
    if pool_row.get("type") == "egress":
        yield BufferFault(profile, f"keeps headroom in {pool}, an egress pool", "name an ingress pool")
    elif size < xoff and not _bytes(pool_row, "xoff"):
        what = f"reserves {size} bytes for {xoff} of headroom, and {pool} has no headroom pool"
        yield BufferFault(profile, what, f"raise size to {xoff} or more, or state xoff of BUFFER_POOL|{pool}")


def _missing_profiles(tables: "ConfigDb") -> Iterator[BufferFault]:
    """Yield a fault for each profile that rows of a table use and that does not exist."""
    profiles = _table(tables, "BUFFER_PROFILE")
    is_dynamic = _table(tables, "DEVICE_METADATA").get("localhost", {}).get("buffer_model") == "dynamic"
    for table in _USERS:
        users_of_missing: dict[str, list[str]] = {}
        for key, row in _table(tables, table).items():
            profile = str(row.get("profile"))
            is_computed = is_dynamic and profile == _COMPUTED and table == "BUFFER_PG"
            if profile not in profiles and not is_computed:
                users_of_missing.setdefault(profile, []).append(key)
        for profile, keys in users_of_missing.items():
            users = f"{table}|{keys[0]}"
            if len(keys) > 1:
                users += f" and {len(keys) - 1} more"
            yield BufferFault(users, f"uses profile {profile}, which is not there", f"add BUFFER_PROFILE|{profile}")


def _exhausted_pools(tables: "ConfigDb") -> Iterator[BufferFault]:
    """Yield a fault for each headroom pool that a quarter of its groups would exhaust (as H-budget in the design)."""
    pools = _table(tables, "BUFFER_POOL")
    profiles = _table(tables, "BUFFER_PROFILE")
    needed = dict.fromkeys(pools, 0)
    for key, row in _table(tables, "BUFFER_PG").items():
        profile = profiles.get(str(row.get("profile")), {})
        pool = str(profile.get("pool"))
        if pool in needed:
            needed[pool] += _group_count(key) * (_bytes(profile, "xoff") or 0)
    for pool, needed_bytes in needed.items():
        budget = _bytes(pools[pool], "xoff")
        if budget and needed_bytes > POOL_EXHAUSTED * budget:
            what = (
                f"has {budget} bytes of headroom for groups that may need {needed_bytes},"
                f" {needed_bytes / budget:.2f} times that"
            )
            yield BufferFault(
                f"BUFFER_POOL|{pool}", what, "raise xoff, or use shorter cables, fewer ports or lossless classes"
            )


def _group_count(key: str) -> int:
    """Return the number of priority groups of a row such as ``Ethernet0|3-4``; 1 if its key is not a range."""
    first, _, last = key.partition("|")[2].partition("-")
    last = last or first
    if not first.isdigit() or not last.isdigit():
        return 1
    return int(last) - int(first) + 1
