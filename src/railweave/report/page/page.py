"""One HTML page from the parts of a report. Its policy lets it load nothing and run only its own script, by hash."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined, Template

from railweave.drawing.elevation import RACKS
from railweave.drawing.layout import lay_out
from railweave.drawing.leaving import Leaving, with_leaving
from railweave.drawing.marks import Marks
from railweave.drawing.svg import style, svg_element
from railweave.drawing.views import FABRIC, part_keys, scene_of
from railweave.fabric.model import Fabric
from railweave.report.page.browser_data import packed
from railweave.report.page.content import Facts, Section
from railweave.wording import counted


class Page(NamedTuple):
    """Everything that a page shows."""

    fabric: Fabric
    summary: Facts
    sections: tuple[Section, ...]
    marks: Marks
    marked: str
    """What the marks of the pictures are of, such as ``the plan``; empty without any."""
    leaving: Leaving = ()
    """Cables that a plan removes to devices that the fabric no longer has."""


class _Choice(NamedTuple):
    key: str
    title: str


def page_html(page: Page) -> bytes:
    """Return the page, UTF-8."""
    whole = with_leaving(scene_of(page.fabric, FABRIC), page.fabric, page.leaving)
    scenes = [whole, *(scene_of(page.fabric, key) for key in part_keys(page.fabric))]
    script, sheet = _asset("page.js"), _asset("page.css")
    written = _template().render(
        fabric=page.fabric,
        about=scenes[0].about,
        summary=page.summary,
        sections=page.sections,
        marked=page.marked,
        choices=[*(_Choice(scene.key, scene.title) for scene in scenes), *_racks(page.fabric)],
        rails=range(page.fabric.rails) if page.fabric.rails > 1 else (),
        planes=range(page.fabric.planes) if page.fabric.planes > 1 else (),
        whole=svg_element(lay_out(scenes[0]), page.marks),
        kinds=_kinds(page.marks),
        picture_style=style(),
        page_style=sheet,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=packed(page.fabric, scenes, page.marks),
        devices=counted(len(page.fabric.ports_of), "device"),
    )
    return written.encode()


def _asset(name: str) -> str:
    return files("railweave.report.page").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=DictLoader({"page.html": _asset("page.html")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def _racks(fabric: Fabric) -> Sequence[_Choice]:
    return () if fabric.racks is None else (_Choice(RACKS, counted(len(fabric.racks.racks), "rack")),)


def _kinds(marks: Marks) -> Sequence[str]:
    """Return the kinds of marks that are there, the most urgent first."""
    found = {mark.kind for own in (*marks.devices.values(), *marks.cables.values()) for mark in own}
    return [kind.value for kind in sorted(found, key=lambda kind: kind.urgency, reverse=True)]
