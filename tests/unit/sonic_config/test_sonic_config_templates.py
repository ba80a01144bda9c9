import multiprocessing
from pathlib import Path

import pytest

from railweave.diagnostics import Where, error
from railweave.templates import TemplateFaultError, Templates, find_templates
from railweave.templates.sandbox import Sandbox
from railweave.templates.worker import Bounds, TemplateWorker


def write(folder: Path, name: str, text: str) -> None:
    path = folder / "templates" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_project_overrides_single_templates_and_keeps_the_others(tmp_path: Path) -> None:
    write(tmp_path, "motd.j2", "hello {{ name }}\n")
    templates = find_templates(tmp_path)
    assert templates.fill("motd.j2", {"name": "leaf"}) == "hello leaf\n"
    assert templates.folders[0] == tmp_path / "templates"
    assert any((folder / "frr" / "frr.conf.j2").is_file() for folder in templates.folders[1:])


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateFaultError, match=r"frr/none\.j2"):
        Templates([tmp_path]).fill("frr/none.j2", {})


def test_a_broken_template_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "bad.j2", "one\n{% if %}\n")
    with pytest.raises(TemplateFaultError, match=r"bad\.j2:2"):
        find_templates(tmp_path).fill("bad.j2", {})


def test_an_unknown_value_is_a_fault_and_not_an_empty_word(tmp_path: Path) -> None:
    write(tmp_path, "typo.j2", "router bgp {{ ans }}\n")
    with pytest.raises(TemplateFaultError, match="ans"):
        find_templates(tmp_path).fill("typo.j2", {"asn": 1})


@pytest.mark.parametrize(
    ("text", "line", "message", "fix"),
    [
        ("one\nrouter bgp {{ ans }}\n", 2, "'ans' is undefined", "use one of the template's values: asn, device"),
        (
            "{% if %}\n",
            1,
            "not a Jinja template: Expected an expression, got 'end of statement block'",
            "correct the statement, as in Jinja's template designer documentation",
        ),
        (
            "\n\n{% include 'none.j2' %}",
            3,
            "there is no template none.j2",
            "write the file into `templates/`, or name one that is there",
        ),
        ("{{ 1 / 0 }}", 1, "division by zero", "correct the template"),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_every_fault_of_a_template_has_its_line_and_a_fix(
    text: str, line: int, message: str, fix: str, *, own: bool, tmp_path: Path
) -> None:
    write(tmp_path, "a.j2", text)
    templates = find_templates(tmp_path) if own else Templates([tmp_path / "templates"])
    with pytest.raises(TemplateFaultError) as raised:
        templates.fill("a.j2", {"device": "leaf1", "asn": 65001})
    where = Where(str(tmp_path / "templates/a.j2"), line, 1)
    assert raised.value.diagnostics == (error("RW406", message, where, fix=fix),)


def test_a_template_cannot_reach_into_the_program(tmp_path: Path) -> None:
    write(tmp_path, "sly.j2", "{{ name.__class__.__mro__ }}")
    with pytest.raises(TemplateFaultError):
        find_templates(tmp_path).fill("sly.j2", {"name": "leaf"})


class Shelf:
    """Has a method of the name by which a list is changed."""

    def append(self, word: str) -> str:
        return f"no list took {word}"


def test_an_attribute_is_refused_on_one_type_and_read_on_another_however_often(tmp_path: Path) -> None:
    write(tmp_path, "shelf.j2", "{{ it.append('x') }}")
    templates = Templates([tmp_path / "templates"])
    names: list[str] = []
    for _ in range(3):
        assert templates.fill("shelf.j2", {"it": Shelf()}) == "no list took x"
        with pytest.raises(TemplateFaultError, match="access to attribute 'append' of 'list' object is unsafe"):
            templates.fill("shelf.j2", {"it": names})
    assert names == []


def test_answers_about_made_up_attributes_do_not_fill_the_memory() -> None:
    sandbox = Sandbox()
    assert all(sandbox.is_safe_attribute("", f"name{number}", None) for number in range(5000))
    assert len(sandbox._answers) <= 1024


@pytest.mark.parametrize("name", ["secret.j2", "frr/secret.j2", "sly.j2"])
def test_a_template_is_read_in_its_own_folder_only(name: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.j2").write_text("s3krit", encoding="utf-8")
    write(tmp_path, "sly.j2", "{% include 'secret.j2' %}")
    (tmp_path / "templates/secret.j2").symlink_to("/proc/self/environ")
    (tmp_path / "templates/frr").symlink_to(outside, target_is_directory=True)
    with pytest.raises(TemplateFaultError, match=r"secret\.j2 leads out of .*templates: it is a symbolic link to "):
        find_templates(tmp_path).fill(name, {})


def test_a_link_within_the_folder_is_followed_and_one_to_nothing_is_named(tmp_path: Path) -> None:
    write(tmp_path, "leaf.j2", "leaf")
    (tmp_path / "templates/same.j2").symlink_to("leaf.j2")
    (tmp_path / "templates/gone.j2").symlink_to("/nowhere")
    assert find_templates(tmp_path).fill("same.j2", {}) == "leaf"
    with pytest.raises(TemplateFaultError, match=r"gone\.j2 is a symbolic link to nothing"):
        find_templates(tmp_path).fill("gone.j2", {})


def test_the_folder_itself_is_no_link(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "a.j2", "x")
    (tmp_path / "templates").symlink_to(tmp_path / "elsewhere/templates", target_is_directory=True)
    with pytest.raises(TemplateFaultError, match="symbolic link"):
        find_templates(tmp_path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            r"the template is not done after 0\.5 s",
            marks=pytest.mark.slow,
        ),
        pytest.param("{{ 'x' * 10**9 }}", "more than 300,000,000 bytes of memory", marks=pytest.mark.slow),
        ("{% for a in range(99999) %}twelve bytes{% endfor %}", r"its text is longer than 1,000,000 bytes"),
        ("{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}", r"big\.j2:1:1: maximum recursion depth"),
        ("one\n{{ 1 / 0 }}", r"big\.j2:2:1: division by zero"),
        ("{{ '\\ud800' }}", "its text is not Unicode"),
    ],
)
def test_work_without_bounds_is_a_fault_of_the_template(text: str, fault: str, tmp_path: Path) -> None:
    write(tmp_path, "big.j2", text)
    write(tmp_path, "good.j2", "hello")
    folders = [tmp_path / "templates"]
    templates = Templates(folders, TemplateWorker(folders, Bounds(0.5, 300_000_000, 1_000_000)).fill)
    with pytest.raises(TemplateFaultError, match=fault):
        templates.fill("big.j2", {})
    assert templates.fill("good.j2", {}) == "hello"


def test_templates_of_a_project_see_no_environment_and_survive_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3krit")
    write(tmp_path, "a.j2", "{{ n }}")
    worker = TemplateWorker([tmp_path / "templates"])
    assert worker.fill("a.j2", {"n": 1}) == "1"
    process = worker._process
    assert process is not None
    assert "s3krit" not in Path(f"/proc/{process.pid}/environ").read_text(encoding="utf-8")

    def fill_often() -> None:
        assert all(worker.fill("a.j2", {"n": number}) == str(number) for number in range(50))

    forked = [multiprocessing.get_context("fork").Process(target=fill_often) for _ in range(2)]
    for one in forked:
        one.start()
    fill_often()
    for one in forked:
        one.join()
        assert one.exitcode == 0
