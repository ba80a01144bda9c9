"""A project's own switch models and NICs: files in its folder ``catalog``, of the form of ours (``data/README.md``).

They are read like ours once their form is checked: diagnostics name file, line and column.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Never

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from railweave.catalog.decode import decode_nics, decode_switch
from railweave.catalog.model import BreakoutMode, CageType, Hwsku, NicModel, SwitchModel
from railweave.catalog.panel import cage_use, cages_with, lane_rates, speeds
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.fabric.buffers import Buffers
from railweave.files import shown_path

CODE = "RW017"
Step = str | int
Found = Iterator[tuple[tuple[Step, ...], str]]

_FIX = "correct it there; `railweave models MODEL --file` prints a sound file to compare with"
INGRESS_LOSSLESS, EGRESS_LOSSLESS = "ingress_lossless_pool", "egress_lossless_pool"
_PORT = re.compile(r"Ethernet(?:0|[1-9][0-9]{0,5})")
_ALIAS_FIELDS = re.compile(r"\{(?:cage|index|port)\}")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Headroom(_Form):
    cell_bytes: int
    pipeline_kib: int
    mac_phy_bytes: float
    tile_bytes_per_gbps: float = 0.0


class _Asic(_Form):
    vendor: str
    family: str
    buffer_bytes: int | None
    ecmp_limit: int | None
    logical_ports: int | None
    source: str
    lossless_classes: int | None = None
    hash_fields: bool = False
    headroom: _Headroom | None = None


class _Cage(_Form):
    form_factor: str
    lanes: int
    lane_gbps: int
    module_lanes: int = 0
    module_lane_gbps: int = 0


class _Buffers(_Form):
    model: Literal["traditional", "dynamic"]
    profiles: list[tuple[str, str, int, Literal["dynamic", "static"], int]]
    lossy_group: str
    lossless_queue: str
    lossy_queue: str
    port_lists: list[list[str]]
    marking: list[tuple[int, int, int, int]] = []


class _Hwsku(_Form):
    name: str
    source: str
    speed_gbps: int | None
    ports_per_cage: int | None
    mode: str | None
    aliases: list[str] = []
    has_qos_template: bool
    notes: str
    buffers: _Buffers | None = None
    buffer_pools: dict[str, list[tuple[str, int | None, str | None, str | None, int | None]]]
    pg_profiles: list[tuple[int, int, int, int, int, int, int | None]]


class _Switch(_Form):
    id: str
    title: str
    source: str
    license: str
    platform: str
    asic: _Asic
    cage: _Cage
    duplicate_lanes: bool
    breakout_modes: list[tuple[str, list[str], list[int]]]
    hwskus: list[_Hwsku]
    service_ports: list[tuple[str, int, str, str, int, str | None]]
    cages: list[tuple[int, int, str, str]]


class _Nic(_Form):
    title: str
    source: str
    form_factors: list[str]
    pcie: list[str]
    shared_gbps: int = 0
    combinations: list[tuple[int, int, list[int]]]
    not_supported: list[tuple[int, int, str, str]] = []
    reorders: bool = False
    not_public: str = ""
    notes: str


class _Nics(_Form):
    nics: dict[str, _Nic]


def read_switch(path: Path) -> SwitchModel:
    """Return the switch model of a file; raises RefusedError with everything that is wrong in it."""
    file = _File(path, _Switch)
    if file.document["id"] != path.stem:
        file.refuse([(("id",), f"the id is `{file.document['id']}`; it has to be the file's name, `{path.stem}`")])
    try:
        model = decode_switch(file.document)
    except (KeyError, ValueError) as wrong:
        file.refuse([(("breakout_modes",), f"a breakout mode, a profile or a lane is not understood: {wrong}")])
    file.refuse(switch_faults(model))
    return model


def read_nics(path: Path) -> dict[str, NicModel]:
    """Return the NIC models of a file; raises RefusedError with everything that is wrong in it."""
    file = _File(path, _Nics)
    nics = decode_nics(file.document)
    file.refuse(fault for nic in nics.values() for fault in _nic_faults(nic))
    return nics


def switch_faults(model: SwitchModel) -> Found:
    """Yield where a switch model contradicts itself, by its place in the file, and how."""
    if not model.hwskus or not model.cages:
        yield (), "a switch has at least one cage and one HWSKU"
        return
    yield from _cage_faults(model)
    for index, mode in enumerate(model.modes):
        yield from ((("breakout_modes", index), what) for what in _mode_faults(mode, model.cage_type.lanes))
    for index, hwsku in enumerate(model.hwskus):
        yield from ((("hwskus", index), what) for what in _hwsku_faults(hwsku, model.cage_type))
        if hwsku.buffers is not None:
            yield from ((("hwskus", index, "buffers"), what) for what in _buffer_faults(hwsku.buffers))
    if model.hwskus[0].speed_gbps is None and not any(_everywhere(model, speed) for speed in speeds(model)):
        yield ("breakout_modes",), "no speed runs on all cages"


def _cage_faults(model: SwitchModel) -> Found:
    lanes = model.cage_type.lanes
    of_ports = (*(cage.lanes for cage in model.cages), *(port.lanes for port in model.service_ports))
    times = Counter(chain(*of_ports))
    names = Counter(cage.name for cage in model.cages)
    for index, cage in enumerate(model.cages):
        place = ("cages", index)
        if cage.number != index + 1:
            yield place, f"cage {cage.number} is row {index + 1}; cages count from 1 without a gap"
        if _PORT.fullmatch(cage.name) is None or names[cage.name] > 1:
            yield place, f"`{cage.name}` is not the name of one port, like Ethernet0"
        if len(cage.lanes) != lanes:
            yield place, f"the cage has {len(cage.lanes)} lanes, all cages have {lanes}"
        if not model.duplicate_lanes and (twice := [lane for lane in cage.lanes if times[lane] > 1]):
            yield place, f"lane {twice[0]} is used twice"


def _mode_faults(mode: BreakoutMode, lanes: int) -> Iterator[str]:
    children = sum(part.count for part in mode.parts)
    taken = [part.lanes or lanes for part in mode.parts]
    if len(mode.aliases) != children:
        yield f"{mode.text} has {children} ports and {len(mode.aliases)} aliases"
    if sum(taken) > lanes or any(have % part.count for have, part in zip(taken, mode.parts, strict=True)):
        yield f"{mode.text} does not divide the {lanes} lanes of a cage"
    if any({"{", "}"} & set(_ALIAS_FIELDS.sub("", alias)) for alias in mode.aliases):
        yield "an alias knows {cage}, {index} and {port} only"


def _hwsku_faults(hwsku: Hwsku, cage: CageType) -> Iterator[str]:
    ports, speed = hwsku.ports_per_cage, hwsku.speed_gbps
    if ports is None or speed is None:
        return
    if not 1 <= ports <= cage.lanes or not lane_rates(speed, cage.lanes // ports, cage.lane_gbps):
        yield f"{ports} ports of {speed}G do not fit a cage's lanes"
    elif len(hwsku.aliases) != ports:
        yield f"{hwsku.name} has {ports} ports and {len(hwsku.aliases)} aliases"


def _everywhere(model: SwitchModel, speed_gbps: int) -> bool:
    use = cage_use(model, speed_gbps)
    return use is not None and len(cages_with(model, use)) == len(model.cages)


def _buffer_faults(buffers: Buffers) -> Iterator[str]:
    profiles = {one.name: one for one in buffers.profiles}
    used = {buffers.lossy_group, buffers.lossless_queue, buffers.lossy_queue, *chain(*buffers.port_lists)}
    yield from (f"profile {name} is not among its profiles" for name in sorted(used - profiles.keys()))
    for role in ("t0", "t1"):
        pools = {one.name for one in buffers.pools.get(role, ())}
        needed = {INGRESS_LOSSLESS, EGRESS_LOSSLESS, *(one.pool for one in buffers.profiles)}
        yield from (f"buffer_pools.{role} lacks the pool {name}" for name in sorted(needed - pools))


def _nic_faults(nic: NicModel) -> Found:
    for index, use in enumerate(nic.combinations):
        if not use.lane_gbps or any(use.speed_gbps // rate not in (1, 2, 4, 8) for rate in use.lane_gbps if rate):
            what = f"{use.speed_gbps}G does not run on 1, 2, 4 or 8 lanes of {use.lane_gbps}"
            yield ("nics", nic.id, "combinations", index), what
    if not nic.combinations and not nic.not_public:
        yield ("nics", nic.id), "a NIC lists its combinations of ports and speed"


class _File:
    """A JSON file whose form has been checked."""

    def __init__(self, path: Path, form: type[_Form]) -> None:
        """Read the file; raises RefusedError where it is no JSON of that form."""
        self.path, self._text = path, ""
        try:
            self._text = path.read_text(encoding="utf-8")
            self.document: Mapping[str, Any] = json.loads(self._text)
            TypeAdapter(form).validate_json(self._text)
        except (OSError, UnicodeDecodeError) as wrong:
            where, fix = Where(shown_path(path)), "let it be a readable file of UTF-8 text"
            raise RefusedError([error(CODE, f"the file cannot be read: {wrong}", where, fix=fix)]) from wrong
        except json.JSONDecodeError as wrong:
            where = Where(shown_path(path), wrong.lineno, wrong.colno)
            raise RefusedError([error(CODE, f"this is not JSON: {wrong.msg}", where, fix=_FIX)]) from wrong
        except ValidationError as wrong:
            found = wrong.errors(include_url=False, include_input=False, include_context=False)
            self._refuse([self._told(one["loc"], f"{_path(one['loc'])}: {one['msg']}") for one in found])

    def refuse(self, faults: Iterator[tuple[tuple[Step, ...], str]] | Sequence[tuple[tuple[Step, ...], str]]) -> None:
        """Raise RefusedError where there is any fault."""
        if told := [self._told(place, what) for place, what in faults]:
            self._refuse(told)

    def _refuse(self, found: Sequence[Diagnostic]) -> Never:
        raise RefusedError(found)

    def _told(self, place: Sequence[Step], what: str) -> Diagnostic:
        line, column = position(self._text, place)
        return error(CODE, what, Where(shown_path(self.path), line, column, _path(place)), fix=_FIX)


def position(text: str, place: Sequence[Step]) -> tuple[int, int]:
    """Return line and column from 1 of a value of a JSON text, or of the nearest value around it."""
    node: Any = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for step in place:
        below = None
        if isinstance(node, yaml.MappingNode):
            below = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            below = node.value[step] if step < len(node.value) else None
        if below is None:
            break
        node = below
    return node.start_mark.line + 1, node.start_mark.column + 1


def _path(place: Sequence[Step]) -> str:
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place).removeprefix(".")
