"""Pages that users copy from: every block of commands is run by `make e2e`, or says why not; and how that is done."""

import re
from pathlib import Path

import pytest
import yaml
from shell_session import (
    DEPLOYED,
    NEEDS,
    ROOT,
    SETTINGS,
    Command,
    FileEdit,
    FileText,
    Session,
    SessionError,
    pattern,
    run_page,
    sections,
    steps,
)

JOURNEYS = sorted((ROOT / "tests" / "e2e" / "journeys").glob("*.md"))
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *JOURNEYS,
)
IDS = [path.relative_to(ROOT).as_posix() for path in PAGES]
INDENTED = re.compile(r"^ {4,}(?:\$ )?(?:\w+=\S+ )*(?:railweave|make|git|ssh|scp|sudo|pip|python3?|docker) ")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_command_of_a_page_runs(page: Path) -> None:
    for section in sections(page.read_text(encoding="utf-8")):
        assert section.setting in {"", *SETTINGS}
        for block in section.blocks:
            assert block.language, f"line {block.line}: a block without a language"
            assert block.language not in {"sh", "bash", "shell"}, f"line {block.line}: commands are a block `console`"
            if block.run_by:
                script = (ROOT / block.run_by).read_text(encoding="utf-8").splitlines()
                assert {line.removeprefix("$ ") for line in block.lines} <= set(script)
            elif block.language == "console":
                assert section.setting, f"line {block.line}: commands before the first session"
                assert steps(block)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in JOURNEYS], ids=str)
def test_a_page_for_readers_says_what_its_session_begins_with(page: Path) -> None:
    before, *rest = re.split(r"<!-- session: (.+) -->", page.read_text(encoding="utf-8"))
    for setting, after in zip(rest[::2], rest[1::2], strict=True):
        assert setting in NEEDS, f"{setting}: a reader has no such session"
        assert NEEDS[setting] in before + after, f"the page does not say: {NEEDS[setting]}"
        before += after


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_no_command_hides_in_an_indented_block(page: Path) -> None:
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        assert fenced or not INDENTED.match(line), line


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_yaml_of_a_page_is_yaml(page: Path) -> None:
    for section in sections(page.read_text(encoding="utf-8")):
        for block in section.blocks:
            if block.language == "yaml":
                yaml.safe_load("\n".join(block.lines))


PAGE = """\
<!-- session: installed -->
1. Write it:

   ```yaml
   # a/b.yml
   one: 1
   ```

```diff
--- a/b.yml
-one: 1
+one: 2
```

```console
$ export HERE=$PWD && cd a
$ cat b.yml; \\
  echo "$HERE" | grep -o 'work$'
one: 2
…
$ cat absent  # exit status 1
cat: absent: No such … or directory
```

<!-- run by .ci/run -->

```console
$ rm -rf /absent
```
"""


def at(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_the_steps_of_a_page_run_in_order_in_one_shell(tmp_path: Path) -> None:
    run_page(at(tmp_path, PAGE), tmp_path / "page", Path)
    (written,) = tmp_path.glob("page/1/**/a/b.yml")
    assert written.read_text() == "one: 2\n"


@pytest.mark.parametrize(
    ("shown", "other", "said"),
    [
        ("one: 2\n…", "one: 3\n…", "one: 2"),
        ("  # exit status 1", "", "exits with 1"),
        ("such … or", "such … nor", "No such file or directory"),
        ("-one: 1", "-one: 7", "has these lines 0 times"),
        ("session: installed", "session: instaled", "no such session"),
    ],
)
def test_a_page_that_shows_something_else_fails_at_its_line(shown: str, other: str, said: str, tmp_path: Path) -> None:
    assert shown in PAGE
    with pytest.raises(SessionError, match=said):
        run_page(at(tmp_path, PAGE.replace(shown, other)), tmp_path / "work", Path)


def test_output_is_corrected_where_it_differs_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shell_session.UPDATE", True)
    page = at(tmp_path, PAGE.replace("one: 2\n…", "one: 3\n…"))
    run_page(page, tmp_path / "work", Path)
    assert page.read_text(encoding="utf-8") == PAGE.replace("one: 2\n…", "one: 2\nwork")


def test_blocks_become_steps() -> None:
    (_, section) = sections(PAGE)
    found = [step for block in section.blocks for step in steps(block)]
    assert found[:2] == [FileText(4, "a/b.yml", "one: 1\n"), FileEdit(9, "a/b.yml", "one: 1\n", "one: 2\n")]
    assert [step.status for step in found if isinstance(step, Command)] == [0, 0, 1]
    assert section.blocks[-1].run_by == ".ci/run"


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        (("a", "…", "d"), "a\nb\nc\nd\n", True),
        (("a", "…", "d"), "a\nd\n", True),
        (("a … c",), "a b c\n", True),
        (("a … c",), "a b\nc\n", False),
        (("a",), "a\nb\n", False),
        ((), "", True),
        (("…",), "", True),
    ],
)
def test_an_ellipsis_stands_for_text_of_a_line_or_for_lines(shown: tuple[str, ...], printed: str, alike: bool) -> None:
    assert bool(pattern(shown).fullmatch(printed)) is alike


def test_a_page_that_begins_with_the_deployed_fabric_continues_in_a_copy_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, str]] = []

    def begin(session: Session) -> None:
        begun.append((session.setting, str(session.deployed)))

    monkeypatch.setattr(Session, "__post_init__", begin)
    monkeypatch.setattr(Session, "close", lambda session: None)
    start = "\n".join(("```console", *DEPLOYED, "```"))
    run_page(at(tmp_path, f"<!-- session: clone -->\n{start}\n"), tmp_path / "work", lambda: tmp_path / "deployed")
    run_page(at(tmp_path, "<!-- session: clone -->\n```yaml\na: 1\n```\n"), tmp_path / "work", Path)
    assert begun == [("deployed clone", str(tmp_path / "deployed")), ("clone", "None")]


def test_a_command_of_railweave_runs_only_where_it_is_on_the_path(tmp_path: Path) -> None:
    session = Session(tmp_path, "installed")
    whole = session.environ["PATH"]
    session.environ["PATH"] = "/usr/bin:/bin"
    status, output = session.run("railweave --version")
    assert (status, "not found" in output) == (127, True)
    session.environ["PATH"] = whole
    assert session.run("railweave --version")[0] == 0


def test_lines_to_replace_must_be_there_once(tmp_path: Path) -> None:
    session = Session(tmp_path, "installed")
    session.change(FileText(1, "x", "a\na\n"))
    with pytest.raises(SessionError, match="x has these lines 2 times"):
        session.change(FileEdit(2, "x", "a\n", "b\n"))
    session.change(FileEdit(3, "x", "", "c\n"))
    assert (session.folder / "x").read_text() == "a\na\nc\n"
