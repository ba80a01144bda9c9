"""One HTML page for a report. Its content security policy allows no loading and only its own script, by hash."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined, Template

from railweave.drawing.elevation import RACKS
from railweave.drawing.layout import lay_out
from railweave.drawing.leaving import Leaving, with_leaving
from railweave.drawing.marks import Marks
from railweave.drawing.palette import RAILS
from railweave.drawing.svg import style, svg_element
from railweave.drawing.views import FABRIC, part_keys, scene_of
from railweave.fabric.model import Fabric
from railweave.report.page.browser_data import packed
from railweave.report.page.content import Facts, Section
from railweave.wording import counted


class Page(NamedTuple):
    """The content of a page."""

    fabric: Fabric
    summary: Facts
    sections: tuple[Section, ...]
    marks: Marks
    marked: str
    """The source of the marks in the pictures, such as ``the plan``; empty without marks."""
    leaving: Leaving = ()
    """Cables that a plan removes to devices that the fabric no longer has."""


class _PictureChoice(NamedTuple):
    """An entry in the list of pictures."""

    key: str
    title: str


def page_html(page: Page) -> bytes:
    """Return the page as HTML in UTF-8: the pictures with their marks, the sections, and the data of its script."""
    fabric = page.fabric
    whole = with_leaving(scene_of(fabric, FABRIC), fabric, page.leaving)
    scenes = [whole, *(scene_of(fabric, key) for key in part_keys(fabric))]
    choices = [_PictureChoice(scene.key, scene.title) for scene in scenes]
    if fabric.racks is not None:
        choices.append(_PictureChoice(RACKS, counted(len(fabric.racks.racks), "rack")))
    script = _asset("page.js")
    # The page's policy allows this script by the hash of the text between its tags, as a browser computes it.
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = _template().render(
        fabric=fabric,
        about=whole.about,
        summary=page.summary,
        sections=page.sections,
        marked=page.marked,
        choices=choices,
        rails=_filter_values(fabric.rails),
        rail_colors=RAILS,
        planes=_filter_values(fabric.planes),
        whole=svg_element(lay_out(whole), page.marks),
        kinds=_kinds(page.marks),
        picture_style=style(),
        page_style=_asset("page.css"),
        script=script,
        script_hash=script_hash,
        data=packed(fabric, scenes, page.marks),
        devices=counted(len(fabric.ports_of), "device"),
    )
    return html.encode()


def _filter_values(count: int) -> range:
    """Return the rails or planes to filter by; none if there is only one."""
    if count < 2:
        return range(0)
    return range(count)


def _asset(name: str) -> str:
    return files("railweave.report.page").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    """Return the template of the page, which is compiled once."""
    # A name that is missing is a fault of the template: an empty place in the page would hide it.
    environment = Environment(
        loader=DictLoader({"page.html": _asset("page.html")}),
        # Names and values of a project are text in the page, whatever they hold.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def _kinds(marks: Marks) -> Sequence[str]:
    """Return the kinds of marks for the legend, the most urgent first."""
    all_marks = chain.from_iterable((*marks.devices.values(), *marks.cables.values()))
    kinds = {mark.kind for mark in all_marks}
    return [kind.value for kind in sorted(kinds, key=lambda kind: kind.urgency, reverse=True)]
