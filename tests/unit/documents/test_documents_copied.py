"""The copy button of the site copies commands alone."""

import html
import importlib.util
import re
from pathlib import Path

import pytest
import yaml
from shell_session import ROOT, Command, sections, steps

HOOK = ROOT / "docs" / "copied_commands.py"
SPEC = importlib.util.spec_from_file_location("copied_commands", HOOK)
assert SPEC
assert SPEC.loader
copied_commands = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(copied_commands)

PAGES = (*sorted((ROOT / "docs/how-to").glob("*.md")), *sorted((ROOT / "docs/tutorial").glob("*.md")))


def test_the_site_uses_the_hook() -> None:
    assert HOOK.relative_to(ROOT).as_posix() in yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["hooks"]


def test_prompts_output_and_remarks_are_left_out() -> None:
    session = '$ railweave check  # exit status 1\nerror[P-1]: a slot\n…\n$ echo "a \\\n  b" && cat <x\na b\n'
    assert list(copied_commands.commands(session)) == ["railweave check", 'echo "a \\', '  b" && cat <x']


def test_a_block_says_what_its_button_copies_and_other_blocks_stay() -> None:
    console = (
        '<div class="highlight"><pre><span></span><code><span class="gp">$ </span>cat<span class="w">'
        ' </span>&lt;<span class="s2">&quot;a&quot;</span>\n<span class="go">one</span>\n<span class="gp">$ </span>ls\n'
        "</code></pre></div>"
    )
    yaml_block = '<div class="highlight language-yaml"><pre><code>a: $ 1\n</code></pre></div>'
    page = copied_commands.on_page_content(f"<p>x</p>{console}{yaml_block}", page=None)
    assert page == f"<p>x</p>{console}{yaml_block}".replace(
        '<div class="highlight">',
        '<div class="highlight" data-copy="cat &lt;&quot;a&quot;&#10;ls">',
    )
    assert [html.unescape(text) for text in re.findall('data-copy="([^"]*)"', page)] == ['cat <"a"\nls']


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_copied_from_a_page_is_what_its_session_runs(page: Path) -> None:
    for section in sections(page.read_text(encoding="utf-8")):
        for block in section.blocks:
            if block.language == "console":
                typed = [step.text for step in steps(block) if isinstance(step, Command)]
                copied = "\n".join(copied_commands.commands("\n".join(block.lines)))
                if typed:
                    assert copied == re.sub(r"(?m)\s+# exit status \d+$", "", "\n".join(typed))
