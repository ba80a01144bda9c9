"""The catalog: hardware facts as data files that come with railweave or with a project, read when first asked for.

A new switch model is a new file in ``data/switches``, a new NIC vendor one in ``data/nic_vendors``; no code names them.
A project's own models are in its folder ``catalog``: ``switches/ID.json`` and ``nics.json``, in the same format.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from railweave.catalog.decode import CatalogError, FormError, MediaFile, NicsFile, PcieFile, decode, with_ids
from railweave.catalog.media import Medium
from railweave.catalog.model import SwitchModel
from railweave.catalog.nics import NicModel, PcieSlot, VendorPack
from railweave.codec import InvalidTextError
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
# Gb/s a lane of generations 1 and 2, in which no slot of the catalog is built but any may train: 2.5 and 5 GT/s with
# 8b/10b coding (PCI Express Base Specification).
_OLDER_LANES_GBPS = {1: 2.0, 2: 4.0}


class Catalog:
    """Hardware by id. Every file is read at most once, when something in it is asked for.

    ``switch``, ``nic``, ``vendor_pack`` and ``pcie_slot`` raise KeyError for an unknown id, the ``find_`` forms return
    None. A broken file raises CatalogError; a broken file in ``own``, the folder of a project's models, RefusedError
    with the place, and so does a project's model with the id of one in the catalog.
    """

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        """Keep the folders; nothing is read yet."""
        self._folder = folder
        self._own = own
        self._switches: dict[str, SwitchModel] = {}

    def switch_ids(self) -> tuple[str, ...]:
        """Return the ids of the switch models in alphabetical order."""
        return self._switch_ids

    def find_switch(self, model_id: str) -> SwitchModel | None:
        """Return a switch model, None for an unknown id."""
        if model_id not in self._switch_ids:
            return None
        return self.switch(model_id)

    def switch(self, model_id: str) -> SwitchModel:
        """Return a switch model; raises KeyError for an unknown id."""
        if model_id not in self._switches:
            if model_id not in self._switch_ids:
                raise KeyError(model_id)
            path = self._own_switches.get(model_id)
            if path:
                # Imported late: it brings YAML, which only projects with models of their own need.
                from railweave.catalog.own import read_switch

                self._switches[model_id] = read_switch(path)
            else:
                self._switches[model_id] = self._read("switches", model_id, SwitchModel)
        return self._switches[model_id]

    def file_text(self, model_id: str) -> str:
        """Return the text of a switch model's file, or that of a file with one NIC, from which to make another.

        Raises KeyError for an unknown id.
        """
        if model_id in self._switch_ids:
            path = self._own_switches.get(model_id) or self._folder / "switches" / f"{model_id}{_SUFFIX}"
            return path.read_text(encoding="utf-8")
        paths = [self._folder / "nics.json"]
        if self._own:
            paths.append(self._own / "nics.json")
        nics: dict[str, Any] = {}
        for path in paths:
            if path.is_file():
                nics |= json.loads(path.read_text(encoding="utf-8"))["nics"]
        return json.dumps({"nics": {model_id: nics[model_id]}}, indent=2) + "\n"

    def nic_ids(self) -> tuple[str, ...]:
        """Return the ids of the NIC models in alphabetical order."""
        return tuple(sorted(self._nics))

    def find_nic(self, nic_id: str | None) -> NicModel | None:
        """Return a NIC model, None for an unknown id."""
        if nic_id is None:
            return None
        return self._nics.get(nic_id)

    def nic(self, nic_id: str) -> NicModel:
        """Return a NIC model; raises KeyError for an unknown id."""
        return self._nics[nic_id]

    def vendor_ids(self) -> tuple[str, ...]:
        """Return the ids of the NIC vendors in alphabetical order."""
        return tuple(self._packs)

    def vendor_pack(self, vendor: str) -> VendorPack:
        """Return the tools of a NIC vendor; raises KeyError for an unknown id."""
        return self._packs[vendor]

    def vendor_of(self, nic_id: str | None) -> str | None:
        """Return the vendor whose tools set NICs of a model, None if no pack has it."""
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
        """Return the raw rate in Gb/s of a trained PCIe link such as ``gen5x4``; None if there is no such link.

        A slot may train over fewer lanes or in an older generation than it is built for.
        """
        slot = self.find_pcie_slot(link)
        if slot is not None:
            return slot.raw_gbps
        trained = _PCIE_LINK.fullmatch(link)
        if trained is None:
            return None
        lane_gbps = {slot.generation: slot.raw_gbps / slot.lanes for slot in self._pcie.values()} | _OLDER_LANES_GBPS
        generation = int(trained[1])
        if generation not in lane_gbps:
            return None
        return lane_gbps[generation] * int(trained[2])

    def best_slot(self, nic: NicModel | None) -> PcieSlot | None:
        """Return the fastest of the PCIe slots that a NIC is made for, None for no NIC."""
        if nic is None:
            return None
        return max(map(self.pcie_slot, nic.pcie), key=lambda slot: slot.raw_gbps, default=None)

    def pcie_slot(self, slot_id: str) -> PcieSlot:
        """Return a PCIe slot; raises KeyError for an unknown id."""
        return self._pcie[slot_id]

    @cached_property
    def _switch_ids(self) -> tuple[str, ...]:
        shipped = self._ids_in("switches")
        _refuse_shipped_ids(self._own_switches, shipped)
        return tuple(sorted((*shipped, *self._own_switches)))

    @cached_property
    def _own_switches(self) -> dict[str, Path]:
        if self._own is None:
            return {}
        return {path.stem: path for path in self._own.glob(f"switches/*{_SUFFIX}")}

    @cached_property
    def _nics(self) -> dict[str, NicModel]:
        """Return the NIC models of the catalog and of the project, by id."""
        shipped = with_ids(self._file("nics.json", NicsFile).nics)
        if self._own is None:
            return shipped
        path = self._own / "nics.json"
        if not path.is_file():
            return shipped
        from railweave.catalog.own import read_nics

        own = read_nics(path)
        _refuse_shipped_ids(dict.fromkeys(own, path), shipped)
        return shipped | own

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
        """Return the value of the file ``name`` in a folder; raises CatalogError if it is broken or has another id."""
        file = f"{folder}/{name}{_SUFFIX}"
        value = self._file(file, kind)
        if value.id != name:
            raise CatalogError(file, f"the id is {value.id!r}; it has to be the file's name")
        return value

    def _file(self, file: str, kind: type[_Value]) -> _Value:
        """Return the value of a file, given by its path in the catalog; raises CatalogError if it is broken."""
        try:
            return decode(kind, self._folder.joinpath(*file.split("/")).read_text(encoding="utf-8"))
        except FileNotFoundError as missing:
            raise CatalogError(file, "the file is missing") from missing
        except InvalidTextError as wrong:
            raise CatalogError(file, f"line {wrong.line}, column {wrong.column}: {wrong.reason}") from wrong
        except FormError as wrong:
            raise CatalogError(file, str(wrong)) from wrong


def _refuse_shipped_ids(own: Mapping[str, Path], shipped: Container[str]) -> None:
    """Raise RefusedError if models of a project have the id of a shipped one; ``own`` has their files by id."""
    # Otherwise an intent could mean another switch after an update of railweave.
    diagnostics = [
        error(
            "RW017",
            f"`{name}` is a model of railweave's own catalog",
            Where(shown_path(path), 1, 1),
            fix=f"give it an id of its own, such as my-{name}",
        )
        for name, path in own.items()
        if name in shipped
    ]
    if diagnostics:
        raise RefusedError(diagnostics)


_OwnModels = tuple[Path | None, tuple[tuple[str, int], ...]]


class _Used:
    """The project's models in use: their folder, and its files with the time of their last change in nanoseconds."""

    own: ClassVar[_OwnModels] = (None, ())


def use_own_models(folder: Path = OWN_MODELS) -> None:
    """Make `load_catalog` also return the models in ``folder``, which need not exist."""
    paths = sorted((*folder.glob(f"switches/*{_SUFFIX}"), *folder.glob("nics.json")))
    if not paths:
        _Used.own = (None, ())
        return
    _Used.own = (folder.resolve(), tuple((path.name, path.stat().st_mtime_ns) for path in paths))


@contextmanager
def own_models_in(folder: Path | None) -> Iterator[None]:
    """Make `load_catalog` return the models in ``folder`` within the block; None is for no models of a project."""
    used_before = _Used.own
    try:
        if folder is None:
            _Used.own = (None, ())
        else:
            use_own_models(folder)
        yield
    finally:
        _Used.own = used_before


def load_catalog() -> Catalog:
    """Return the catalog of this installation and of the project in use; the same object until a file changes."""
    return _catalog(_Used.own)


@lru_cache(maxsize=4)
def _catalog(own: _OwnModels) -> Catalog:
    # With the times of the files, a changed file gives another catalog.
    folder, _ = own
    return Catalog(_DATA, folder)
