"""What switches run, without reading them: from recorded documents, or from a revision of the intent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nornir_railweave.tasks.recording import RecordedSwitch
from railweave.api.design.intent import Designed, designed_at
from railweave.api.project import Project
from railweave.api.simulator.sim import simulator_spec
from railweave.errors import RailweaveError, UsageError
from railweave.fabric.model import Fabric
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import DocumentError, RunningConfig, parse_running, running_from
from railweave.sonic.render.configure import Configurator
from railweave.wording import compact, first_few


@dataclass(frozen=True, slots=True)
class RunningStates:
    """The configuration of switches by name, and its ``source`` in words; ``base`` is the intent taken to run."""

    recorded: Mapping[str, RecordedSwitch]
    source: str
    base: Designed | None = None


def states_of(project: Project, designed: Designed, source: str) -> RunningStates:
    """Return what switches run by ``source``; a switch that is not in the result is factory-fresh.

    ``source`` is a folder with a file ``NAME.json`` for each switch, as ``show runningconfiguration all`` prints it, or
    a revision or file of the intent, which is taken to be deployed on factory-fresh switches. Raises UsageError for a
    folder without documents of the fabric's switches, RailweaveError for an invalid document, RefusedError with every
    error of the intent.
    """
    folder = Path(source)
    if folder.is_dir():
        recorded = _recorded(designed.fabric, folder)
        return RunningStates(recorded, f"documents in {folder} of {compact(recorded)}")
    before = designed_at(source, project.intent)
    return RunningStates(_deployed(before), f"the intent at {source}, taken to be deployed", before)


def _recorded(fabric: Fabric, folder: Path) -> dict[str, RecordedSwitch]:
    """Return the switches of the fabric whose documents are in a folder; other files are ignored.

    Raises RailweaveError for an invalid document, UsageError if there is none.
    """
    switches = {}
    for path in sorted(folder.glob("*.json")):
        if path.stem not in fabric.switch_of:
            continue
        try:
            running = parse_running(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, DocumentError) as fault:
            raise RailweaveError(f"{path}: {fault}: `show runningconfiguration all` prints what it must hold") from None
        if not running.is_whole:
            raise RailweaveError(f"{path}: not a whole configuration: `show runningconfiguration all` prints one")
        switches[path.stem] = RecordedSwitch(running=running)
    if not switches:
        names = first_few(f"{name}.json" for name in fabric.switch_of)
        raise UsageError(f"{folder} holds no document of a switch of {fabric.name}: {names}")
    return switches


def _deployed(designed: Designed) -> dict[str, RecordedSwitch]:
    """Return what factory-fresh switches hold once an intent is deployed on them."""
    fabric = designed.fabric
    configurator = Configurator(fabric, designed.templates)
    switches = {}
    for device in simulator_spec(fabric, designed.catalog).devices:
        intended = configurator.device(fabric.switch_of[device.name])
        factory = RunningConfig(running_from(device.factory).config_db, "")
        delta = diff(device.name, factory, intended).delta
        # Not the intended rows alone: what the factory set and railweave does not manage stays on the switch.
        switches[device.name] = RecordedSwitch(running=applied(delta, factory))
    return switches
