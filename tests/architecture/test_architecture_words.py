"""One word for one thing (docs/reference/glossary.md): phrases that were replaced do not come back."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("src", "tasks", "topologies", "docs", "README.md")
SUFFIXES = {".py", ".md", ".yml", ".json", ".j2", ".txt", ".toml"}

REPLACED = {
    "nothing is to do": "no changes",
    "not ours, kept": "unmanaged, left untouched",
    "at worst": "worst-case impact",
    "carries nothing yet": "no traffic yet",
    "last choice of all neighbou?rs": "de-preferred by all neighbors (graceful shutdown)",
    "may stand still for that time": "if an outage is acceptable",
    "part its (entries|items)": "separate entries with commas",
    "stands where a": "expected a mapping, got …",
    "not certain to come first": "ECN may not mark before PFC when …",
    "ring of buffers": "cyclic buffer dependency",
    "correct errors alike": "FEC modes match",
    "leave with 2": "exit with status 2",
    "cause is mended": "cause is fixed",
    "has to be mended": "needs the fix",
    "rows not ours": "unmanaged rows",
    "somebody else is at work": "another transaction holds the lock",
    "design mathematics": "sizing: every number with its formula",
    r"neighbour\w*": "neighbor",
    r"catalogue\w*": "catalog",
    r"colour\w*": "color",
    r"artefacts?": "artifact",
    r"behaviour\w*": "behavior",
    # Documents that the repository does not hold.
    "(fabric|sonic|operation|api)-facts": "the source itself: an RFC, a paper, a file of SONiC",
    "--take-ports": "--remove-conflicting",
    "--at-once": "--single-step",
}
"""Each phrase as a regular expression, matched without regard to case, with what is said instead."""

SEEN = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "inventory", "templates"),
    *("src/railweave/api", "src/railweave/cli", "src/railweave/starter"),
)
"""Where people read: documents, what they copy, and the commands with the API behind them."""

REPLACED_WHERE_SEEN = {
    "(is|are) told": "is reported, receives, takes",
    "tells of": "names, reports",
    "what came of": "the result of",
    "ways? out": "fix",
    "ways? back": "rollback document, rollback",
    "not ours": "unmanaged",
    "stands in the way": "conflicts, prevents",
    "(to mend|mended)": "remediation, fixed",
    "(brought|bring) back": "restored, rolled back",
    "(takes?|taken) (it |them )?back": "revert, roll back",
    "at work": "running, current",
    "(goes|go|went) on": "continues, resumes",
    "(carried|carry|carries) on": "resume",
    "only `yes` goes on": "type `yes` to confirm",
    "for ever": "permanently",
    "otherwise than": "differs from",
    "not begun": "not started",
    "runs? already": "is running",
}
"""Further phrases, of no standard use, that do not come back where people read."""


REPLACED_NAMES = {
    "examine": "assess_device",
    "recognise": "match_phase",
    "take_back": "revert_expired_commit",
    "takeback": "rollback_checks",
    "ways_back": "rollback_documents",
    "undoing": "rollback",
    "wait_until_quiet": "wait_until_drained",
    "change_drain": "auto_drain",
    "PlannedWork": "DeployJob",
    "RestoringWork": "RollbackJob",
    "Asked": "Control",
    "hindrance": "blocker",
    "Undertaking": "RolloutMetadata",
    "stillborn": "never_started",
    "careful": "disruptive",
    "calm": "hitless",
    "parted": "two_sided",
    "parted_by_limits": "split_by_limits",
    "may_go": "wave_violation",
    "Unmet": "PolicyViolation",
    "given_up": "lossless_removed",
    "strangers": "unknown_peers",
    "not_ours": "unmanaged",
    "wanted": "intended",
    "arrange": "lay_out",
    "expand": "build_fabric",
    "spread_ports": "distribute_ports",
    "find_room": "remaining_capacity",
    "Refusal": "Blocker",
    "way_out": "fix",
    "refusals": "diagnostics, blockers",
}
"""Names of code that do not come back in the engine."""


def compiled(replaced: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    """Return patterns that begin with a phrase's own letters, which Python looks for fast."""
    return [(re.compile(phrase.replace(" ", r"\s+") + r"(?!\w)"), instead) for phrase, instead in replaced.items()]


PATTERNS, PATTERNS_WHERE_SEEN = compiled(REPLACED), compiled(REPLACED_WHERE_SEEN)


def replaced_in(text: str, patterns: list[tuple[re.Pattern[str], str]] = PATTERNS) -> Iterator[tuple[int, str]]:
    """Yield the line and the phrase to use for each replaced phrase in ``text``, also across a line's end."""
    lowered = text.lower()
    for pattern, instead in patterns:
        for found in pattern.finditer(lowered):
            if not re.match(r"\w", lowered[found.start() - 1 : found.start()]):
                yield text.count("\n", 0, found.start()) + 1, instead


def texts(place: Path) -> Iterator[Path]:
    """Yield the text files of a folder, or the file itself."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_file() and path.suffix in SUFFIXES and "egg-info" not in str(path):
            yield path


@pytest.mark.parametrize(
    ("place", "patterns"),
    [*((place, PATTERNS) for place in (*PLACES, *SEEN)), *((place, PATTERNS_WHERE_SEEN) for place in SEEN)],
)
def test_replaced_phrases_do_not_come_back(place: str, patterns: list[tuple[re.Pattern[str], str]]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: say `{instead}`"
        for path in texts(ROOT / place)
        for line, instead in replaced_in(path.read_text(encoding="utf-8"), patterns)
    ]
    assert not found, "\n".join(found)


def test_a_phrase_is_found_in_any_case_and_across_lines() -> None:
    assert list(replaced_in("fine\nLeave with\n2 when")) == [(2, "exit with status 2")]
    assert not list(replaced_in("the worst-case impact"))


def test_replaced_names_do_not_come_back() -> None:
    any_of_them = re.compile(rf"\b({'|'.join(REPLACED_NAMES)})\b")
    names = {
        f"{path.relative_to(ROOT)}: {name}, say `{REPLACED_NAMES[name]}`"
        for path in sorted((ROOT / "src").rglob("*.py"))
        if any_of_them.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        for name in identifiers(node) & REPLACED_NAMES.keys()
    }
    assert not names, "\n".join(sorted(names))


def identifiers(node: ast.AST) -> set[str]:
    """Return the names that a node of a program uses or gives."""
    fields = ("id", "attr", "name", "arg", "module", "asname")
    return {part for field in fields if isinstance(text := getattr(node, field, None), str) for part in text.split(".")}


def test_a_replaced_name_is_found_where_it_is_given_and_used() -> None:
    found = [identifiers(node) for node in ast.walk(ast.parse("from plan.drains import wanted as x\na.parted(calm=1)"))]
    assert {"plan", "drains", "wanted", "parted", "calm"} <= set().union(*found)
