"""Files for schedulers, Kubernetes operators and other consumers, and what they have compared with the intent."""

from collections.abc import Mapping
from pathlib import Path

from railweave.api.design.intent import Designed, load_designed
from railweave.api.project import Project
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.export.check.consumer import check_file
from railweave.export.model import RELEASES, Exported, ExportOptions, ExportSource
from railweave.export.registry import FORMATS, export_format
from railweave.files import cannot_write, write_private
from railweave.intent.load import fabrics_in
from railweave.intent.reference import reference
from railweave.wording import either, suggestion

ALL = "all"
"""The name for every format that the intent has something for."""
_READABLE = 0o644


def export_formats() -> Mapping[str, str]:
    """Return the names of the formats with what each of them is."""
    return {name: kind.title for name, kind in FORMATS.items()}


def export(
    project: Project,
    name: str,
    *,
    out: Path | None = None,
    options: ExportOptions | None = None,
    live: str = "",
) -> Exported:
    """Return the file of a format, and write it to ``out``: a file, or a folder for ``all`` formats.

    Of an intent with several fabrics all are exported unless the project names one. ``live`` names a target, whose
    drained and failed switches are left out with the nodes that depend on them. Raises RefusedError with every error of
    the intent and everything that the consumer would refuse, before anything is written; UsageError for an unknown
    format.
    """
    format_names = tuple(FORMATS) if name == ALL else (export_format(name).name,)
    source, warnings = export_source(project, options or ExportOptions(), live)
    files: dict[str, tuple[str, str]] = {}
    without: dict[str, str] = {}
    for format_name in format_names:
        try:
            files[format_name] = FORMATS[format_name].file, FORMATS[format_name].write(source)
        except RefusedError as refused:
            # RW952: the intent has nothing for the format, which only matters if the format was asked for by name.
            has_nothing = all(diagnostic.code == "RW952" for diagnostic in refused.diagnostics)
            if name != ALL or not has_nothing:
                raise
            without[format_name] = refused.diagnostics[0].message
    if out is not None:
        _write(out, files, as_folder=name == ALL)
    return Exported(source.name, files, left_out=source.topology.left_out, without=without, warnings=warnings)


def check_export(
    project: Project, file: Path, *, options: ExportOptions | None = None, live: str = ""
) -> tuple[Diagnostic, ...]:
    """Return every difference between a consumer's file and the intent: labels, custom resources, Slurm's topology.

    The format follows from the content. Raises RefusedError for a file that cannot be compared.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise RailweaveError(f"{file} cannot be read: {getattr(exc, 'strerror', None) or 'it is not UTF-8'}") from exc
    source, _ = export_source(project, options or ExportOptions(), live)
    return check_file(source, file, text)


def export_source(project: Project, options: ExportOptions, live: str = "") -> tuple[ExportSource, tuple[str, ...]]:
    """Return what formats are written from, and warnings about switches of the target ``live`` that cannot be read.

    Raises UsageError for an unknown release of an operator.
    """
    if options.release not in RELEASES:
        guess = suggestion(options.release, RELEASES)
        raise UsageError(f"no operator release {options.release!r}: {guess}it is one of {either(RELEASES)}")
    designed = designed_fabrics(project)
    out_of_service: dict[str, str] = {}
    warnings: list[str] = []
    if live:
        # Imported late: what reaches switches takes a second to import.
        from railweave.api.maintenance.service import out_of_service as read_service

        for path in designed:
            reasons, fabric_warnings = read_service(Project(path, project.operator), live)
            out_of_service |= reasons
            warnings += fabric_warnings
    fabrics = tuple(design.fabric for design in designed.values())
    places = {design.fabric.name: design.intent.where for design in designed.values()}
    return ExportSource(fabrics, options, out_of_service, places), tuple(warnings)


def designed_fabrics(project: Project) -> dict[Path, Designed]:
    """Return the designed fabrics by the path that names each: all of a file unless the project names one."""
    names = fabrics_in(project.intent) or ("",)
    paths = [reference(project.intent, name) for name in names]
    return {path: load_designed(path) for path in paths}


def _write(out: Path, files: Mapping[str, tuple[str, str]], *, as_folder: bool) -> None:
    """Write the only file to ``out``, or all files into that folder; each is written whole or not at all."""
    try:
        if as_folder:
            out.mkdir(parents=True, exist_ok=True)
        for format_name, (file, text) in files.items():
            path = out
            if as_folder:
                path = out / file_name(format_name, file)
            write_private(path, text.encode(), _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(out, exc)) from exc


def file_name(kind: str, file: str) -> str:
    """Return the name of a file in a folder of all formats: the format's, with the ending that the consumer knows."""
    return f"{kind}{Path(file).suffix}"
