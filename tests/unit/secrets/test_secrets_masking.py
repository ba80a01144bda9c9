"""A resolved secret leaves in no output and no encoding: one mask for all, which knows values and not places."""

import base64
import html
import io
import json
import shlex
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from napalm_sonic.quoting import Quotes
from nornir_railweave.device.session import error_text
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.model import SecretSource, Source, Target
from nornir_railweave.target.secret_store import SecretStore
from railweave.api.journal.audit import _line
from railweave.cli.show import print_error, print_json, print_text, print_view, write_json
from railweave.csv_text import csv_text
from railweave.masking import forget_resolved, mask_from_now_on, masked
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.rollout import RolloutMetadata
from railweave.report.layout import cell
from railweave.secrets import HIDDEN, shown_text
from railweave.sonic.document import RunningConfig

VALUE = "Mark-9f3c: a/b+c=\"d\"'e'\\f%&<é>"
SHOWN = "{secret:NAME}"


def in_lines(text: str, length: int) -> Iterator[str]:
    yield from (text[at : at + length] for at in range(0, len(text), length))


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON with Unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"value": text})),
    "Python": repr,
    "Python's bytes": lambda text: repr(text.encode()),
    "shell": shlex.quote,
    "shell in shell": lambda text: shlex.quote(f"echo {shlex.quote(text)}"),
    "URL": urllib.parse.quote,
    "URL, all of it": lambda text: urllib.parse.quote(text, safe=""),
    "form": urllib.parse.quote_plus,
    "URL in URL": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""),
    "HTML": html.escape,
    "HTML in HTML": lambda text: html.escape(html.escape(text)),
    "CSV": lambda text: csv_text([[text]]),
    "markdown": cell,
}
ENCODINGS |= {
    "hexadecimal": lambda text: text.encode().hex(),
    "upper hexadecimal": lambda text: text.encode().hex().upper(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "hexadecimal with blanks": lambda text: text.encode().hex(" ").upper(),
    "octets": lambda text: ", ".join(f"0x{octet:02x}" for octet in text.encode()),
    "URL, every octet": lambda text: "".join(f"%{octet:02x}" for octet in text.encode()),
    "JSON, every character": lambda text: "".join(f"\\u{ord(character):04X}" for character in text),
    "a shell's octets": lambda text: "".join(f"\\x{octet:02x}" for octet in text.encode()),
    "octal": lambda text: "".join(f"\\{octet:03o}" for octet in text.encode()),
    "HTML, every character": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "HTML, every character in hexadecimal": lambda text: "".join(f"&#x{ord(character):X};" for character in text),
    "quoted-printable": lambda text: "".join(
        character if character.isascii() and character.isalnum() else f"={character.encode().hex('=').upper()}"
        for character in text
    ),
    "one blank for several": lambda text: " ".join(text.split()),
    "wrapped": lambda text: f"{text[:3]}\n    {text[3:]}",
    "wrapped by CR LF": lambda text: f"{text[:-2]}\r\n{text[-2:]}",
    "wrapped for a shell": lambda text: f"{text[:4]}\\\n{text[4:]}",
    "JSON in base64": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
    "JSON with Unicode in base64": lambda text: base64.b64encode(
        json.dumps([text], ensure_ascii=False).encode()
    ).decode(),
    "URL in base64": lambda text: base64.b64encode(f"u:{urllib.parse.quote(text, safe='')}@x".encode()).decode(),
    "base64 in lines": lambda text: "\n".join(in_lines(base64.b64encode(text.encode()).decode(), 5)),
}
BASE64 = {"standard": base64.b64encode, "URL-safe": base64.urlsafe_b64encode}


def in_base64(code: Callable[[bytes], bytes], before: int, after: int) -> Callable[[str], str]:
    return lambda text: code(b"\xff" * before + text.encode() + b"\xff" * after).decode()


for _name, _code in BASE64.items():
    for _before, _after in product(range(3), repeat=2):
        ENCODINGS[f"{_name} base64 behind {_before} octets, before {_after}"] = in_base64(_code, _before, _after)


@pytest.fixture(autouse=True)
def nothing_resolved() -> Iterator[None]:
    forget_resolved()
    yield
    forget_resolved()


@pytest.fixture
def resolved() -> SecretStore:
    target = Target("t", Source.SIM, secrets={"NAME": SecretSource(env="VALUE")})
    store = SecretStore(target, {"VALUE": VALUE})
    store.required("NAME")
    return store


SECRETS = st.text(st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_categories=["Cc", "Cs"]), min_size=6)


@given(
    secret=SECRETS.map(str.strip).filter(lambda text: len(text) >= 6),
    around=st.sampled_from(["{}", "at {}, so", "x{}y"]),
)
@example(secret="0000\xa00", around="{}")
@example(secret="0000\t0", around="at {}, so")
@example(secret="000 \xa00", around="{}")
@example(secret="000  \t0 \xa0 0", around="{}")
def test_a_value_is_masked_in_every_encoding(secret: str, around: str) -> None:
    forget_resolved()
    mask_from_now_on(secret, SHOWN)
    for encode in ENCODINGS.values():
        encoded = encode(secret)
        found = masked(around.format(encoded))
        assert encoded.strip("'\"\n") not in found.replace(SHOWN, "")
        assert SHOWN in found
        assert masked(found) == found, "a second mask leaves the reference alone"


@pytest.mark.parametrize("written", ["0A1B2C3D4E5F60718293A4B5C6D7E8F9", "0a1B2c3D4e5F60718293a4b5c6d7e8f9"])
def test_a_key_of_hexadecimal_digits_is_masked_in_any_case(written: str) -> None:
    mask_from_now_on("0a1b2c3d4e5f60718293a4b5c6d7e8f9", SHOWN)
    assert masked(f"primary_cak {written} is refused") == f"primary_cak {SHOWN} is refused"


def printed(show: Callable[[], None]) -> str:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        show()
    return out.getvalue() + errors.getvalue()


def narrow_table() -> Table:
    table = Table("what", "value")
    table.add_row("a value that is wrapped", Text(f"got {VALUE}", style="red"))
    table.add_row(Padding(VALUE, 1), VALUE)
    return table


OUTPUTS: dict[str, Callable[[], None]] = {
    "document": lambda: print_json({"row": {VALUE: [{"text": f"said {VALUE}"}]}}),
    "markdown": lambda: print_text(cell(f"| {VALUE} |")),
    "error": lambda: print_error(f"the switch said {VALUE}"),
    "view": lambda: print_view(Group(Text.assemble("said ", (VALUE, "bold")), VALUE)),
    "table": lambda: print_view(narrow_table()),
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("columns", ["30", "160"])
def test_a_resolved_secret_is_masked_before_it_is_wrapped(
    output: str, columns: str, resolved: SecretStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = printed(OUTPUTS[output])
    letters = "".join(said.split())
    assert "{secret:" in letters
    assert "9f3c" not in letters


def test_files_and_words_of_devices_hold_the_reference(resolved: SecretStore, tmp_path: Path) -> None:
    write_json(tmp_path / "plan.json", {"row": VALUE})
    said = shown_text(f'Value "{VALUE}" is refused')
    held = [
        (tmp_path / "plan.json").read_text(),
        _line({"error": f"it said {VALUE}"}, b"").decode(),
        said,
        error_text(ValueError(said)),
    ]
    for text in held:
        assert SHOWN in text
        assert "9f3c" not in text


def test_a_login_from_the_environment_is_masked_too() -> None:
    mask_from_now_on(VALUE, HIDDEN)
    assert masked({"said": [f"denied: {VALUE}"]}) == {"said": ["denied: (hidden)"]}


def test_without_a_resolved_secret_a_value_stays_the_same_object() -> None:
    document = {"a": ["b"]}
    assert masked(document) is document


# Secrets that only the switch has

RUNNING = RunningConfig(
    {
        "MACSEC_PROFILE": {"core": {"primary_cak": "0123456789abcdef0123456789abcdef", "priority": "64"}},
        "SNMP_COMMUNITY": {"c0mmunity-of-the-site": {"TYPE": "RO"}},
        "VENDOR": {"x": {"priv_pass": "pr1v-of-the-site", "bindpw": "b1nd-of-the-site"}},
    },
    "router bgp 1\n neighbor 10.0.0.1 password bgp-of-the-site\nexit\n",
)
SITE = (
    "0123456789abcdef0123456789abcdef",
    "c0mmunity-of-the-site",
    "pr1v-of-the-site",
    "b1nd-of-the-site",
    "bgp-of-the-site",
)


@pytest.mark.parametrize("secret", SITE)
def test_a_refusal_quotes_no_secret_of_a_table_that_no_change_touches(secret: str) -> None:
    for encode in ENCODINGS.values():
        words = f"Data Loading Failed: value {encode(secret)} of the whole configuration"
        answer = {
            "outcome": "failed",
            "error": words,
            "refused": {"command": "apply-patch", "said": words},
            "missing": [words],
            "status": {
                "status": "failed",
                "error": words,
                "missing": [words],
                "broken": {"daemons": ["bgpd"], "lines": [f"bgpd: {words}"], "command": "", "waited_s": 300.0},
            },
        }
        shown = json.dumps(Quotes(RUNNING).shown_answer(answer))
        assert secret not in shown
        assert encode(secret).strip("'\"\n") not in shown
        assert shown.count(HIDDEN) == 6


def test_words_that_were_cut_end_and_begin_with_no_part_of_a_secret() -> None:
    secret = SITE[0]
    for cut in range(5, len(secret)):
        shown = Quotes(RUNNING).shown(f"{secret[-cut:]} is said of {secret[:cut]}")
        assert shown == "(hidden) is said of (hidden)"


def test_data_of_an_answer_stays_as_it_is() -> None:
    answer = {"outcome": "read", "config": {"tables": RUNNING.config_db}, "status": {"status": "none", "id": SITE[1]}}
    assert Quotes(RUNNING).shown_answer(answer) == answer


@pytest.mark.parametrize("secret", ["fabric1", "applied", "lab-spine1", "0123456789ab", "intent/lab"])
def test_a_secret_that_is_a_part_of_a_name_leaves_a_journal_readable(secret: str, tmp_path: Path) -> None:
    mask_from_now_on(secret, SHOWN)
    digest = "0123456789ab" + "0" * 52
    plan = Plan("fabric1", "sim", digest, {"lab-spine1": DevicePlan(DeviceState.CHANGED)}, (("lab-spine1",),))
    with Journal(tmp_path, "fabric1", "sim", RolloutMetadata(intent="intent/lab.yml")) as journal:
        journal(journal.opening(plan))
        details = {"commit_id": "0123456789ab", "said": f"key {secret}"}
        journal(Event(Step.APPLIED, "lab-spine1", f"refused: {secret}", details))
    text = journal.path.read_text(encoding="utf-8")
    (found,) = rollouts(tmp_path, "fabric1", "sim")
    assert (found.name, found.metadata.intent, found.intent_sha256) == (journal.name, "intent/lab.yml", digest)
    assert found.devices["lab-spine1"].step == "applied"
    assert "0123456789ab" in found.devices["lab-spine1"].commit_ids
    assert f"refused: {secret}" not in text
    assert f"key {secret}" not in text
