"""What contradicts itself in the buffer rows of a switch, down to the pool and the chip."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from railweave.qos.mmu.pools import POOL_EXHAUSTED

if TYPE_CHECKING:
    from railweave.sonic.resolved import ResolvedTables
    from railweave.sonic.rows import ConfigDb

_USERS = ("BUFFER_PG", "BUFFER_QUEUE")
_COMPUTED = "NULL"
_SHARED = ("BUFFER_POOL", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN")
"""Tables of which every row counts for all ports."""
_MOST_DIGITS = 18
"""Digits of a number of bytes that is taken for one; Python refuses to read thousands."""
_ROUNDING = 1.05
"""Vendors publish a chip's buffer in rounded megabytes; templates state up to 1 % more."""


class BufferFault(NamedTuple):
    """A row (or the first of several), what is wrong with it, and the fix."""

    row: str
    what: str
    fix: str


def buffer_faults(tables: "ConfigDb", chip_bytes: int | None) -> Iterator[BufferFault]:
    """Yield the faults of a switch's buffer rows; ``chip_bytes`` is its chip's whole buffer, None if unknown."""
    yield from _pools(tables, chip_bytes)
    yield from _profiles(tables)
    yield from _users(tables)
    yield from _headroom(tables)


def buffer_differences(read: "ResolvedTables", design: "ResolvedTables") -> Iterator[BufferFault]:
    """Yield what a switch shares out otherwise than designed, where the design says how: rows that count for all ports,
    and the buffer model."""
    if not design.table("BUFFER_POOL"):
        return
    if read.knows("DEVICE_METADATA") and read.model is not design.model:
        what = f"is {read.model}, by design {design.model}"
        yield BufferFault(
            "the buffer model", what, f"set DEVICE_METADATA|localhost|buffer_model {design.model}, reload"
        )
    for table in (name for name in _SHARED if name in design.tables and read.knows(name)):
        for key in {**design.table(table), **read.table(table)}:
            has, wants = ({k: v for k, v in one.row(table, key).items() if v != "0"} for one in (read, design))
            other = [name for name in {**wants, **has} if has.get(name) != wants.get(name)]
            told = "; ".join(f"{one} {has.get(one, 'not set')}, by design {wants.get(one, 'not set')}" for one in other)
            what = f"has {told}" if key in read.table(table) else "is not there"
            what = what if key in design.table(table) else "is no row of the design"
            if other:
                yield BufferFault(f"{table}|{key}", what, "write it as rendered, and reload,")


def _table(tables: "ConfigDb", name: str) -> Mapping[str, Mapping[str, object]]:
    return tables.get(name, {})


def _bytes(row: Mapping[str, object], field: str) -> int | None:
    value = row.get(field)
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS else None


def _pools(tables: "ConfigDb", chip: int | None) -> Iterator[BufferFault]:
    for name, row in _table(tables, "BUFFER_POOL").items():
        size, xoff = _bytes(row, "size"), _bytes(row, "xoff")
        if size is not None and xoff is not None and xoff >= size:
            yield BufferFault(
                f"BUFFER_POOL|{name}", f"has a headroom pool of {xoff} bytes in {size}", "raise size, or lower xoff"
            )
        if size is not None and chip is not None and size > _ROUNDING * chip:
            yield BufferFault(
                f"BUFFER_POOL|{name}", f"has {size} bytes, the chip {chip}", "lower size to what the chip has"
            )


def _profiles(tables: "ConfigDb") -> Iterator[BufferFault]:
    pools = _table(tables, "BUFFER_POOL")
    for name, row in _table(tables, "BUFFER_PROFILE").items():
        place, pool = f"BUFFER_PROFILE|{name}", str(row.get("pool"))
        if pool not in pools:
            known = ", ".join(sorted(pools)) or "none"
            yield BufferFault(
                place, f"is of pool {pool}, which is not there", f"name a pool of the switch ({known}), or add it"
            )
            continue
        stated = [field for field in ("dynamic_th", "static_th") if field in row]
        if len(stated) != 1:
            yield BufferFault(
                place, f"states {' and '.join(stated) or 'no threshold'}", "state dynamic_th or static_th"
            )
        xoff, size = _bytes(row, "xoff"), _bytes(row, "size") or 0
        if xoff and pools[pool].get("type") == "egress":
            yield BufferFault(place, f"keeps headroom in {pool}, an egress pool", "name an ingress pool")
        elif xoff and size < xoff and not _bytes(pools[pool], "xoff"):
            what = f"reserves {size} bytes for {xoff} of headroom, and {pool} has no headroom pool"
            yield BufferFault(place, what, f"raise size to {xoff} or more, or state xoff of BUFFER_POOL|{pool}")


def _users(tables: "ConfigDb") -> Iterator[BufferFault]:
    """Yield profiles that are named and missing, each once with the number of rows that name it."""
    profiles = _table(tables, "BUFFER_PROFILE")
    computes = _table(tables, "DEVICE_METADATA").get("localhost", {}).get("buffer_model") == "dynamic"
    missing: dict[tuple[str, str], list[str]] = {}
    for table in _USERS:
        for key, row in _table(tables, table).items():
            name = str(row.get("profile"))
            if name not in profiles and not (computes and name == _COMPUTED and table == "BUFFER_PG"):
                missing.setdefault((table, name), []).append(key)
    for (table, name), keys in missing.items():
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        yield BufferFault(
            f"{table}|{keys[0]}{more}", f"uses profile {name}, which is not there", f"add BUFFER_PROFILE|{name}"
        )


def _headroom(tables: "ConfigDb") -> Iterator[BufferFault]:
    """Yield headroom pools that a quarter of their groups would exhaust (as H-budget in the design)."""
    profiles, needed = _table(tables, "BUFFER_PROFILE"), dict.fromkeys(_table(tables, "BUFFER_POOL"), 0)
    for key, row in _table(tables, "BUFFER_PG").items():
        profile = profiles.get(str(row.get("profile")), {})
        first, _, last = key.partition("|")[2].partition("-")
        groups = int(last or first) - int(first) + 1 if first.isdigit() and (last or first).isdigit() else 1
        if (pool := str(profile.get("pool"))) in needed:
            needed[pool] += groups * (_bytes(profile, "xoff") or 0)
    for pool, taken in needed.items():
        budget = _bytes(_table(tables, "BUFFER_POOL")[pool], "xoff")
        if budget and taken > POOL_EXHAUSTED * budget:
            what = f"has {budget} bytes of headroom for groups that may need {taken}, {taken / budget:.2f} times that"
            yield BufferFault(
                f"BUFFER_POOL|{pool}", what, "raise xoff, or use shorter cables, fewer ports or lossless classes"
            )
