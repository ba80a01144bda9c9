"""The catalog: hardware facts as data files that come with railweave or with a project, read when first asked for.

A new switch model is a new file in ``data/switches``, a new NIC vendor one in ``data/nic_vendors``; no code knows them.
A project's own models are in its folder ``catalog``: ``switches/ID.json`` and ``nics.json``, of the same form.
"""

import json
import re
from collections.abc import Container, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from railweave.catalog.decode import CatalogError, FormError, MediaFile, NicsFile, PcieFile, decode, with_ids
from railweave.catalog.model import Medium, NicModel, PcieSlot, SwitchModel, VendorPack
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError
from railweave.files import shown_path

_SUFFIX = ".json"
_DATA = Path(__file__).with_name("data")
_Value = TypeVar("_Value")
_Named = TypeVar("_Named", SwitchModel, VendorPack)
OWN_MODELS = Path("catalog")
"""The folder of a project's own models, in the working directory."""

_PCIE_LINK = re.compile(r"gen(\d{1,2})x(\d{1,2})")
_OLDER_LANES_GBPS = {1: 2.0, 2: 4.0}


class Catalog:
    """Hardware by id. Every file is read at most once, when something in it is asked for.

    ``switch``, ``nic``, ``vendor_pack``, ``medium`` and ``pcie_slot`` raise KeyError for an unknown id, their ``find_``
    forms return None. A broken file raises CatalogError, one of ``own``, a project's own models, RefusedError with the
    place; so does an own model with the id of another.
    """

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        """Keep the folders; nothing is read yet."""
        self._folder, self._own = folder, own
        self._switches: dict[str, SwitchModel] = {}

    def switch_ids(self) -> tuple[str, ...]:
        """Return the ids of the switch models in alphabetical order."""
        return self._switch_ids

    def find_switch(self, model_id: str) -> SwitchModel | None:
        """Return a switch model, None for an unknown id."""
        return self.switch(model_id) if model_id in self._switch_ids else None

    def switch(self, model_id: str) -> SwitchModel:
        """Return a switch model; KeyError for an unknown id."""
        if model_id not in self._switches:
            if model_id not in self._switch_ids:
                raise KeyError(model_id)
            if own := self._own_switches.get(model_id):
                from railweave.catalog.own import read_switch

                self._switches[model_id] = read_switch(own)
            else:
                self._switches[model_id] = self._read("switches", model_id, SwitchModel)
        return self._switches[model_id]

    def file_text(self, model_id: str) -> str:
        """Return the file of a switch model or NIC, from which to make another; KeyError for an unknown id."""
        if model_id in self._switch_ids:
            own = self._own_switches.get(model_id)
            found = own or self._folder.joinpath("switches", f"{model_id}{_SUFFIX}")
            return found.read_text(encoding="utf-8")
        paths = [self._folder.joinpath("nics.json"), *([self._own / "nics.json"] if self._own else [])]
        every: dict[str, Any] = {}
        for path in paths:
            every |= json.loads(path.read_text(encoding="utf-8"))["nics"] if path.is_file() else {}
        return json.dumps({"nics": {model_id: every[model_id]}}, indent=2) + "\n"

    def nic_ids(self) -> tuple[str, ...]:
        """Return the ids of the NIC models in alphabetical order."""
        return tuple(sorted(self._nics))

    def find_nic(self, nic_id: str | None) -> NicModel | None:
        """Return a NIC model, None for an unknown id."""
        return None if nic_id is None else self._nics.get(nic_id)

    def nic(self, nic_id: str) -> NicModel:
        """Return a NIC model; KeyError for an unknown id."""
        return self._nics[nic_id]

    def vendor_ids(self) -> tuple[str, ...]:
        """Return the ids of the NIC vendors in alphabetical order."""
        return tuple(self._packs)

    def vendor_pack(self, vendor: str) -> VendorPack:
        """Return the tools of a NIC vendor; KeyError for an unknown id."""
        return self._packs[vendor]

    def vendor_of(self, nic_id: str | None) -> str | None:
        """Return the vendor whose tools set NICs of a model, None where there is no pack for it."""
        return next((vendor for vendor, pack in self._packs.items() if nic_id in pack.nics), None)

    def media(self) -> tuple[Medium, ...]:
        """Return all media, the cheapest first."""
        return self._media

    def find_medium(self, medium_id: str) -> Medium | None:
        """Return a medium, None for an unknown id."""
        return next((medium for medium in self._media if medium.id == medium_id), None)

    def pcie_ids(self) -> tuple[str, ...]:
        """Return the ids of the PCIe slots in the order of their generations."""
        return tuple(self._pcie)

    def find_pcie_slot(self, slot_id: str) -> PcieSlot | None:
        """Return a PCIe slot, None for an unknown id."""
        return self._pcie.get(slot_id)

    def pcie_link_gbps(self, link: str) -> float | None:
        """Return the raw rate in Gb/s of a PCIe link as it has trained, such as ``gen5x4``, None for no such link.

        A slot trains over fewer lanes or in an older generation than it is built for; of generations 1 and 2, which no
        slot of the catalog has, a lane carries 2 and 4 Gb/s (PCI Express Base Specification: 2.5 and 5 GT/s, 8b/10b).
        """
        slot = self.find_pcie_slot(link)
        if slot is not None:
            return slot.raw_gbps
        trained = _PCIE_LINK.fullmatch(link)
        if trained is None:
            return None
        generation, lanes = int(trained[1]), int(trained[2])
        of_lane = {slot.generation: slot.raw_gbps / slot.lanes for slot in self._pcie.values()} | _OLDER_LANES_GBPS
        return of_lane[generation] * lanes if generation in of_lane else None

    def best_slot(self, nic: NicModel | None) -> PcieSlot | None:
        """Return the fastest of the PCIe slots that a NIC is made for, None for no NIC."""
        return max(map(self.pcie_slot, nic.pcie), key=lambda slot: slot.raw_gbps, default=None) if nic else None

    def pcie_slot(self, slot_id: str) -> PcieSlot:
        """Return a PCIe slot; KeyError for an unknown id."""
        return self._pcie[slot_id]

    @cached_property
    def _switch_ids(self) -> tuple[str, ...]:
        ours = self._ids_in("switches")
        _refuse_known(self._own_switches, ours)
        return tuple(sorted((*ours, *self._own_switches)))

    @cached_property
    def _own_switches(self) -> dict[str, Path]:
        return {path.stem: path for path in self._own.glob(f"switches/*{_SUFFIX}")} if self._own else {}

    @cached_property
    def _nics(self) -> dict[str, NicModel]:
        ours = with_ids(self._file("nics.json", NicsFile).nics)
        path = self._own / "nics.json" if self._own else None
        if path is None or not path.is_file():
            return ours
        from railweave.catalog.own import read_nics

        own = read_nics(path)
        _refuse_known(dict.fromkeys(own, path), ours)
        return ours | own

    @cached_property
    def _packs(self) -> dict[str, VendorPack]:
        return {name: self._read("nic_vendors", name, VendorPack) for name in self._ids_in("nic_vendors")}

    @cached_property
    def _media(self) -> tuple[Medium, ...]:
        media = with_ids(self._file("media.json", MediaFile).media)
        return tuple(sorted(media.values(), key=lambda medium: medium.cost_rank))

    @cached_property
    def _pcie(self) -> dict[str, PcieSlot]:
        return {slot.id: slot for slot in self._file("pcie.json", PcieFile).slots}

    def _ids_in(self, folder: str) -> tuple[str, ...]:
        names = (entry.name for entry in self._folder.joinpath(folder).iterdir())
        return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))

    def _read(self, folder: str, name: str, kind: type[_Named]) -> _Named:
        file = f"{folder}/{name}{_SUFFIX}"
        value = self._file(file, kind)
        if value.id != name:
            raise CatalogError(file, f"the id is {value.id!r}; it has to be the file's name")
        return value

    def _file(self, file: str, kind: type[_Value]) -> _Value:
        try:
            return decode(kind, self._folder.joinpath(*file.split("/")).read_text(encoding="utf-8"))
        except FileNotFoundError as missing:
            raise CatalogError(file, "the file is missing") from missing
        except json.JSONDecodeError as wrong:
            raise CatalogError(file, f"line {wrong.lineno}, column {wrong.colno}: {wrong.msg}") from wrong
        except FormError as wrong:
            raise CatalogError(file, str(wrong)) from wrong


def _refuse_known(own: Mapping[str, Path], ours: Container[str]) -> None:
    """Refuse own models that have the id of one of ours: an intent would mean another switch after an update."""
    found = [
        error(
            "RW017",
            f"`{name}` is a model of railweave's own catalog",
            Where(shown_path(path), 1, 1),
            fix=f"give it an id of its own, such as my-{name}",
        )
        for name, path in own.items()
        if name in ours
    ]
    if found:
        raise RefusedError(found)


class _Used:
    """The own models in use: their folder, and its files with the time of their last change."""

    own: ClassVar[tuple[Path | None, tuple[tuple[str, int], ...]]] = (None, ())


def use_own_models(folder: Path = OWN_MODELS) -> None:
    """Let `load_catalog` return the models in ``folder`` too; one that is not there has none."""
    paths = sorted((*folder.glob(f"switches/*{_SUFFIX}"), *folder.glob("nics.json")))
    files_of = tuple((path.name, path.stat().st_mtime_ns) for path in paths)
    _Used.own = (folder.resolve(), files_of) if paths else (None, ())


def load_catalog() -> Catalog:
    """Return the catalog of this installation and of the project in use; the same object until a file changes."""
    return _catalog(_Used.own)


@lru_cache(maxsize=4)
def _catalog(own: tuple[Path | None, tuple[tuple[str, int], ...]]) -> Catalog:
    return Catalog(_DATA, own[0])
