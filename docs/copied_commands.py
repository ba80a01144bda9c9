"""The copy button of a shell session copies its commands: no prompt, no output, no remark on an exit status.

Material for MkDocs copies the attribute ``data-copy`` of the nearest element around a block that has one, else the
text of the block. MkDocs calls `on_page_content` (``hooks`` in mkdocs.yml) with each page's HTML.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

PROMPT = "$ "
_BLOCK = re.compile(r'<div class="(?P<classes>[^"]*\bhighlight\b[^"]*)">(?=<pre)(?P<block>.*?)</div>', re.DOTALL)
_PROMPT_OF_PYGMENTS = f'<span class="gp">{PROMPT}</span>'
_TAG = re.compile(r"<[^>]+>")
_REMARK = re.compile(r"\s+# exit status \d+$")


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML in which every shell session says what its button copies."""
    return _BLOCK.sub(_with_commands, content)


def _with_commands(session: re.Match[str]) -> str:
    if _PROMPT_OF_PYGMENTS not in session["block"]:
        return session[0]
    text = html.unescape(_TAG.sub("", session["block"]))
    # An attribute may hold line feeds, but tools that tidy HTML join its lines.
    copied = html.escape("\n".join(commands(text))).replace("\n", "&#10;")
    return f'<div class="{session["classes"]}" data-copy="{copied}">{session["block"]}</div>'


def commands(session: str) -> Iterator[str]:
    """Yield the lines that are typed in a shell session: those with a prompt, and the lines that continue them."""
    continued = False
    for line in session.splitlines():
        if line.startswith(PROMPT):
            typed = line.removeprefix(PROMPT)
        elif continued:
            typed = line
        else:
            continue
        continued = typed.endswith("\\")
        yield _REMARK.sub("", typed)
