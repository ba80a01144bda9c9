"""Diagnostics where code hosts show them: at the lines of the intent, beside the change that a reviewer reads.

Three forms: SARIF 2.1.0 (OASIS), which GitHub, GitLab and editors import; GitHub's workflow commands, which annotate a
run with nothing uploaded; GitLab's code quality report.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from railweave.checks.registry import all_rules
from railweave.codec import encode
from railweave.diagnostics import Diagnostic, Severity, in_order
from railweave.files import shown_path

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
# The words of GitLab's report, in the order of Code Climate's: info, minor, major, critical, blocker.
_GITLAB_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def sarif(diagnostics: Iterable[Diagnostic], intent: str) -> str:
    """Return a SARIF log with one run; a diagnostic without a place is shown at the first line of ``intent``."""
    ordered = in_order(diagnostics)
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in ordered))
    driver = {"name": "railweave", "version": version("railweave"), "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "the folder of the project"}}},
        "results": [_result(diagnostic, codes, intent) for diagnostic in ordered],
    }
    return _text({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: str) -> dict[str, Any]:
    """Return the rule of a code as SARIF describes it; only the code if the rule is not registered."""
    rule = all_rules().get(code)
    if rule is None:
        return {"id": code}
    texts = {"shortDescription": rule.title, "fullDescription": rule.explanation, "help": rule.fix}
    document: dict[str, Any] = {"id": code}
    for key, text in texts.items():
        # SARIF forbids empty texts.
        if text:
            document[key] = {"text": text}
    return document


def _result(diagnostic: Diagnostic, codes: Sequence[str], intent: str) -> dict[str, Any]:
    """Return a diagnostic as a result of SARIF; ``codes`` are those of the rules in the log, in their order."""
    file, line, column = _place(diagnostic, intent)
    region = {"startLine": line}
    if column:
        region["startColumn"] = column
    location = {"artifactLocation": {"uri": file, "uriBaseId": "ROOT"}, "region": region}
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": _SARIF_LEVEL[diagnostic.severity],
        "message": {"text": _message(diagnostic)},
        "locations": [{"physicalLocation": location}],
        # Lines move: the finding is the same one while code, path and text are.
        "partialFingerprints": {"railweave/v1": _fingerprint(diagnostic, file)},
    }


def github_commands(diagnostics: Iterable[Diagnostic], intent: str) -> str:
    """Return a workflow command for each diagnostic, which a run prints (docs.github.com, workflow commands).

    GitHub shows at most ten errors, ten warnings and ten notices of a step: the most severe come first.
    """
    lines = []
    for diagnostic in in_order(diagnostics):
        file, line, column = _place(diagnostic, intent)
        properties = {"file": file, "line": str(line), "title": diagnostic.code}
        if column:
            properties["col"] = str(column)
        command = _GITHUB_COMMAND[diagnostic.severity]
        place = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
        message = _escaped(_message(diagnostic))
        lines.append(f"::{command} {place}::{message}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    """Return text escaped for a workflow command, where a line break would begin another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def gitlab_report(diagnostics: Iterable[Diagnostic], intent: str) -> str:
    """Return a code quality report of GitLab (docs.gitlab.com, code quality report format)."""
    entries = []
    for diagnostic in in_order(diagnostics):
        file, line, _ = _place(diagnostic, intent)
        entry = {
            "description": _message(diagnostic),
            "check_name": diagnostic.code,
            "fingerprint": _fingerprint(diagnostic, file),
            "severity": _GITLAB_SEVERITY[diagnostic.severity],
            "location": {"path": file, "lines": {"begin": line}},
        }
        entries.append(entry)
    return _text(entries)


CODE_HOSTS: Final[Mapping[str, Callable[[Iterable[Diagnostic], str], str]]] = {
    "sarif": sarif,
    "github": github_commands,
    "gitlab": gitlab_report,
}
"""Writers of diagnostics by the name of the form."""


def _place(diagnostic: Diagnostic, intent: str) -> tuple[str, int, int]:
    """Return file, line and column of a diagnostic; the column is 0 where it is unknown."""
    where = diagnostic.where
    if not where.file:
        return shown_path(Path(intent)), 1, 0
    # A path below the working directory is what hosts know; a revision's name stays as it is.
    return shown_path(Path(where.file)), max(where.line, 1), where.column


def _message(diagnostic: Diagnostic) -> str:
    if not diagnostic.fix:
        return diagnostic.message
    return f"{diagnostic.message}\nfix: {diagnostic.fix}"


def _fingerprint(diagnostic: Diagnostic, file: str) -> str:
    content = "\n".join((diagnostic.code, file, diagnostic.where.path, diagnostic.message))
    return hashlib.sha256(content.encode()).hexdigest()


def _text(document: object) -> str:
    # A person may read the file, and a diff of two is by lines.
    return encode(document).decode() + "\n"
