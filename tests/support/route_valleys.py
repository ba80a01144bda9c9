"""Where a switch passes on upwards what it learned from above, under the FRR file that comes with railweave."""

from functools import cache

from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where
from railweave.fabric.model import Fabric
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates


def valleys(fabric: Fabric) -> list[Diagnostic]:
    """Return what is found on any switch: `railweave check` looks only at FRR files of a project's own."""
    configurator = Configurator(fabric, find_templates())

    @cache
    def document(name: str) -> FrrDocument:
        return parse_frr(configurator.frr(fabric.switch_of[name]))

    seen = RouteSources(document, lambda _: {}, [switch.name for switch in fabric.switches])
    return list(transit_diagnostics(fabric, seen, lambda _: Where()))
