"""Catalog files into values, with errors that name the file and the field."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from railweave.catalog.model import (
    Asic,
    BreakoutMode,
    BreakoutPart,
    Cage,
    CageType,
    Hwsku,
    Medium,
    NicModel,
    NicPorts,
    NotSupported,
    PcieSlot,
    Pmd,
    ServicePort,
    SwitchModel,
    VendorPack,
)
from railweave.errors import RailweaveError
from railweave.fabric.buffers import BufferPool, BufferProfile, Buffers, HeadroomChip, PgProfile
from railweave.fabric.policy import BufferModel, Marking
from railweave.jsonable import from_members

_Value = TypeVar("_Value")


class CatalogError(RailweaveError):
    """A catalog file cannot be read; the text names the file and what is wrong in it."""

    def __init__(self, file: str, message: str) -> None:
        """Put the file's name before the message."""
        self.file = file
        super().__init__(f"{file}: {message}")


def decoded(file: str, decode: Callable[[Mapping[str, Any]], _Value], document: object) -> _Value:
    """Return ``decode(document)``; a missing field or a wrong type becomes a CatalogError that names it."""
    if not isinstance(document, dict):
        raise CatalogError(file, "the file does not hold an object at the top")
    try:
        return decode(document)
    except KeyError as missing:
        raise CatalogError(file, f"the field {missing.args[0]!r} is missing") from missing
    except (AttributeError, IndexError, TypeError, ValueError) as wrong:
        raise CatalogError(file, f"a field has a wrong form: {wrong}") from wrong


def decode_switch(document: Mapping[str, Any]) -> SwitchModel:
    """Return a switch model from its file's object."""
    return from_members(
        SwitchModel,
        document,
        asic=_asic(document["asic"]),
        cage_type=_cage_type(document["cage"]),
        cages=tuple(Cage(number, index, name, _lanes(lanes)) for number, index, name, lanes in document["cages"]),
        modes=tuple(
            BreakoutMode(text, parse_breakout_mode(text), tuple(aliases), frozenset(not_on))
            for text, aliases, not_on in document["breakout_modes"]
        ),
        hwskus=tuple(_hwsku(one, document) for one in document["hwskus"]),
        service_ports=tuple(
            ServicePort(name, index, alias, _lanes(lanes), speed_gbps, mode)
            for name, index, alias, lanes, speed_gbps, mode in document["service_ports"]
        ),
    )


def _asic(document: Mapping[str, Any]) -> Asic:
    headroom = document.get("headroom")
    return Asic(**{**document, "headroom": HeadroomChip(**headroom) if headroom else None})


def _lanes(text: str) -> tuple[int, ...]:
    return tuple(int(lane) for lane in text.split(","))


def _cage_type(document: Mapping[str, Any]) -> CageType:
    module = {"module_lanes": document["lanes"], "module_lane_gbps": document["lane_gbps"]}
    return from_members(CageType, module | dict(document))


def _hwsku(document: Mapping[str, Any], model: Mapping[str, Any]) -> Hwsku:
    mode = document["mode"]
    aliases = document["aliases"] if mode is None else dict(row[:2] for row in model["breakout_modes"])[mode]
    pools = {role: tuple(BufferPool(*row) for row in rows) for role, rows in document["buffer_pools"].items()}
    pg_profiles = tuple(PgProfile(*row) for row in document["pg_profiles"])
    return from_members(
        Hwsku,
        document,
        aliases=tuple(aliases),
        buffer_pools=pools,
        pg_profiles=pg_profiles,
        buffers=_buffers(document, model, pools, pg_profiles) if "buffers" in document else None,
    )


def _buffers(
    document: Mapping[str, Any],
    model: Mapping[str, Any],
    pools: Mapping[str, tuple[BufferPool, ...]],
    pg_profiles: tuple[PgProfile, ...],
) -> Buffers:
    buffers, asic = document["buffers"], _asic(model["asic"])
    repository, _, rest = model["source"].partition(":")
    return Buffers(
        hwsku=document["name"],
        source=f"{repository}:{document['source']}@{rest.rpartition('@')[2][:12]}",
        model=BufferModel(buffers["model"]),
        pools=pools,
        profiles=tuple(
            BufferProfile(name, pool, size, kind == "dynamic", threshold)
            for name, pool, size, kind, threshold in buffers["profiles"]
        ),
        lossy_group=buffers["lossy_group"],
        lossless_queue=buffers["lossless_queue"],
        lossy_queue=buffers["lossy_queue"],
        port_lists=tuple(tuple(names) for names in buffers["port_lists"]),
        pg_profiles=pg_profiles,
        marking={speed: Marking(*row) for speed, *row in buffers.get("marking", ())},
        chip=asic.headroom,
        lossless_classes=asic.lossless_classes,
    )


def decode_nics(document: Mapping[str, Any]) -> dict[str, NicModel]:
    """Return the NIC models by id."""
    return {name: _nic(name, one) for name, one in document["nics"].items()}


def _nic(name: str, document: Mapping[str, Any]) -> NicModel:
    return from_members(
        NicModel,
        document,
        id=name,
        combinations=tuple(
            NicPorts(ports, speed_gbps, tuple(lane_gbps), document.get("shared_gbps", ports * speed_gbps))
            for ports, speed_gbps, lane_gbps in document["combinations"]
        ),
        not_supported=tuple(NotSupported(*row) for row in document.get("not_supported", ())),
    )


def decode_vendor_pack(document: Mapping[str, Any]) -> VendorPack:
    """Return the pack of a NIC vendor from its file's object."""
    return from_members(VendorPack, document)


def decode_media(document: Mapping[str, Any]) -> tuple[Medium, ...]:
    """Return the media, the cheapest first."""
    media = (
        from_members(Medium, one, id=name, pmds=tuple(Pmd(*row) for row in one["pmds"]))
        for name, one in document["media"].items()
    )
    return tuple(sorted(media, key=lambda medium: medium.cost_rank))


def decode_pcie(document: Mapping[str, Any]) -> dict[str, PcieSlot]:
    """Return the PCIe slots by id."""
    return {
        name: PcieSlot(name, generation, lanes, slots, float(raw), (float(low), float(high)))
        for name, generation, lanes, slots, raw, low, high in document["slots"]
    }


# SONiC's breakout modes, such as 4x100G[50G,25G], 1x100G(4), 2x25G(2)+1x50G(2): ports and speed, in brackets the other
# speeds that the mode allows, in parentheses the lanes that it uses (sonic-facts section 1.3), in either order.
_PART = re.compile(
    r"(?P<count>[1-9][0-9]*)x(?P<speed>[1-9][0-9]*)G"
    r"(?:\[(?P<before>[0-9G, ]+)\])?(?:\((?P<lanes>[1-9][0-9]*)\))?(?:\[(?P<after>[0-9G, ]+)\])?"
)


def parse_breakout_mode(text: str) -> tuple[BreakoutPart, ...]:
    """Return the parts of a breakout mode; ValueError when it is none."""
    return tuple(_parse_part(part, text) for part in text.split("+"))


def _parse_part(part: str, whole: str) -> BreakoutPart:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{whole!r} is not a breakout mode; write it like 2x400G[200G]")
    alternatives = match["before"] or match["after"] or ""
    return BreakoutPart(
        count=int(match["count"]),
        speed_gbps=int(match["speed"]),
        alternatives=tuple(int(speed.strip().removesuffix("G")) for speed in alternatives.split(",") if speed),
        lanes=int(match["lanes"]) if match["lanes"] else None,
    )
