"""The pages of the documentation site that follow from the code, and the links of those that lie outside `docs`.

MkDocs calls the two functions below (`hooks` in mkdocs.yml) with the files and pages of the site.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from railweave import api
from railweave.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "how-to/napalm-sonic.md": "packages/napalm-sonic/README.md",
    "how-to/sonic-sim.md": "packages/sonic-sim/README.md",
}
"""Pages of the site that lie in the project's folder."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages and the JSON Schemas to the site."""
    pages = {
        **{page: (ROOT / source).read_text(encoding="utf-8") for page, source in OUTSIDE.items()},
        **{f"schemas/{_file_name(name)}": json.dumps(api.schema(name), indent=2) for name in api.schemas()},
        "reference/commands.md": commands_page(),
        "reference/checks.md": codes_page(),
        "reference/schemas.md": schemas_page(),
        "reference/api-functions.md": functions_page(),
    }
    for path, text in pages.items():
        if known := files.get_file_from_path(path):
            files.remove(known)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links to files of the project outside the site are the paths of these files."""
    folder = (ROOT / OUTSIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")).parent

    def rewritten(link: re.Match[str]) -> str:
        words, target, anchor = link.groups()
        path = (folder / target).resolve()
        source = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        uri = next((page for page, outside in OUTSIDE.items() if outside == source), source.removeprefix("docs/"))
        if files.get_file_from_path(uri):
            up = "../" * page.file.src_uri.count("/")
            return f"[{words}]({up}{uri}{anchor or ''})"
        if not path.exists():
            return link[0]  # which MkDocs reports
        return f"`{source}`" if words.strip("`") == source else f"{words} (`{source}`)"

    return re.sub(r"\[([^]\n]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]+)?\)", rewritten, markdown)


def commands_page() -> str:
    """Return every command with its arguments and options."""
    lines = [
        "# Commands",
        "",
        "Every command has `--help` (`-h`). Every reporting command accepts `--json`. Exit status: 0 done,",
        "1 refused or failed, 2 only with `--exit-code` for changes found, 64 wrong usage, 130 interrupted.",
    ]
    for path, command in _commands("railweave", typer.main.get_command(app)):
        context = command.make_context(path, [], resilient_parsing=True)
        about = inspect.cleandoc(command.help or "")
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        rows = [one.get_help_record(context) for one in command.params]
        lines += ["", f"## `{path}`", "", about, "", "```text", usage, "```", ""]
        lines += [
            "| argument or option | meaning |",
            "|---|---|",
            *(_row(f"`{one[0]}`", one[1]) for one in rows if one),
        ]
    return "\n".join(lines) + "\n"


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command that is no group, with its words, in the order of `--help`."""
    inner: Mapping[str, Any] | None = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    for name, one in (inner or {}).items():
        yield from () if one.hidden else _commands(f"{path} {name}", one)


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def codes_page() -> str:
    """Return every diagnostic code with its rule, why it holds, an example that breaks it, and the fix."""
    rules = [api.explain_rule(code) for code in api.codes()]
    lines = [
        "# Diagnostic codes",
        "",
        "A code never changes its meaning. A diagnostic reports that the rule of its code does not hold, and where;",
        "`railweave explain CODE` prints the entry below in a terminal.",
        "",
        "| code | rule |",
        "|---|---|",
        *(_row(f"[`{one.code}`](#{one.code.lower()})", one.title) for one in rules),
    ]
    reported = _reported()
    for one in rules:
        lines += [
            "",
            f"## {one.code} {{ #{one.code.lower()} }}",
            "",
            f"**Rule:** {one.title}.",
            "",
            one.explanation,
            "",
        ]
        lines += ["An example that breaks it:", "", "```yaml", one.example, "```", ""] if one.example else []
        if case := reported.get(one.code):
            lines += ["As reported, with the fix for that case:", "", "```text", case, "```", ""]
        lines += [f"**No example:** {one.no_example}", ""] if one.no_example else []
        if one.fix or not case:
            lines += [f"**Fix:** {one.fix or 'the diagnostic names it, with the values of the case.'}", ""]
    return "\n".join(lines) + "\n"


def _reported() -> dict[str, str]:
    """Return for each code the shortest diagnostic of the refused intents and commands of the tests, or of a page."""
    shortest = _printed()
    for report in sorted((ROOT / "tests/refused").rglob("*.txt")):
        for found in re.finditer(r"^(\S+) (\S+) .*\n(?:  .*\n?)+", report.read_text(encoding="utf-8"), re.M):
            code = found[2] if found[1] in ("error", "warning", "info") else found[1]
            text = re.sub(r"way[ ]out:", "fix:", found[0].rstrip())
            if not text.endswith("fix: -") and len(text) < len(shortest.get(code, text + " ")):
                shortest[code] = text
    return shortest


def _printed() -> dict[str, str]:
    """Return for each code the shortest diagnostic that a command printed, in the tests' reports and the pages."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/refused/commands").glob("*.txt"))]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    shortest: dict[str, str] = {}
    for text in texts:
        for found in re.finditer(r"^(?:error|warning|info)\[(\S+)\]: .*\n(?:  .*\n?)+", text, re.M):
            report = found[0].rstrip()
            if len(report) < len(shortest.get(found[1], report + " ")):
                shortest[found[1]] = report
    return shortest


def schemas_page() -> str:
    """Return the list of JSON Schemas, each a file of the site."""
    lines = [
        "# JSON Schemas",
        "",
        "`railweave schema NAME` prints them; here they are files (draft 2020-12). For an editor with the YAML",
        "language server, the first line of an intent names its schema:",
        "`# yaml-language-server: $schema=intent.schema.json`. `railweave init` writes the line, and the file beside",
        "the intent, so that it works offline; `railweave schema intent > intent/intent.schema.json` renews the file.",
        "[What `--json` prints](json.md) lists the keys.",
        "",
        "| schema | describes |",
        "|---|---|",
    ]
    lines += [_row(f"[`{name}`](../schemas/{_file_name(name)})", title) for name, title in api.schemas().items()]
    return "\n".join(lines) + "\n"


def _file_name(schema: str) -> str:
    return f"{schema.replace(' ', '-')}.schema.json"


def functions_page() -> str:
    """Return every public function and value of the Python API with its signature."""
    lines = ["# The Python API, name by name", "", "Signatures and docstrings; [the API by task](api.md) has examples."]
    for name, found in _public():
        lines += ["", f"## `{name}` {{ #{name} }}", ""]
        if callable(found):
            kind = "class " if inspect.isclass(found) else ""
            lines += ["```python", kind + _signature(name, found), "```", ""]
        lines += [inspect.getdoc(found) or "", ""]
    return "\n".join(lines) + "\n"


def _public() -> Iterator[tuple[str, Any]]:
    for name in cast("Sequence[str]", api.__all__):
        found = getattr(api, name)
        if isinstance(found, ModuleType):
            yield from ((f"api.{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        else:
            yield f"api.{name}", found


def _signature(name: str, found: Any) -> str:
    text = str(inspect.signature(found))
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    return name + text
