from pathlib import Path

import pytest

from railweave.templates import TemplateFaultError, Templates, find_templates


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


def test_a_template_cannot_reach_into_the_program(tmp_path: Path) -> None:
    write(tmp_path, "sly.j2", "{{ name.__class__.__mro__ }}")
    with pytest.raises(TemplateFaultError):
        find_templates(tmp_path).fill("sly.j2", {"name": "leaf"})
