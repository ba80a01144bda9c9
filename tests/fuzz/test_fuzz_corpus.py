"""What fuzzing found is read again, each input in a test of its own; and the fuzzer finds what is put in its way."""

from pathlib import Path

import pytest
from fuzz_mutation import Mutator
from fuzz_targets import READ, TARGETS, Target, named

import fuzz

KEPT = sorted(path for path in fuzz.CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_kept_input_is_read_or_refused_as_it_must_be(path: Path) -> None:
    fuzz.checked(named(path.parent.name), path.read_bytes())


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_seed_is_a_valid_input(target: Target) -> None:
    seeds = target.mutator().seeds
    assert seeds
    for seed in seeds[:6]:
        assert isinstance(target.read(seed), str)


@pytest.mark.parametrize("name", ["intent", "inventory", "rules", "plan", "journal", "audit"])
def test_the_seeds_of_files_are_read_and_not_refused(name: str) -> None:
    assert {named(name).read(seed) for seed in named(name).mutator().seeds} == {READ}


def planted(data: bytes) -> str:
    if b'"count": ' in data and b"null" in data:
        raise KeyError("count")
    while b'"busy": true' in data:
        pass
    return READ


SEED = b'{"fabric": "pod1", "nodes": [{"name": "gpu", "count": 4, "note": "%s"}]}' % (b"x" * 200)
PLANTED = Target("planted", lambda: Mutator("json", [SEED, b'{"other": null}']), planted, cpu_s=0.2)


@pytest.mark.slow
def test_a_fault_is_found_cut_down_kept_and_found_again_by_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "CORPUS", tmp_path / "a" / "b" / "c")
    found = fuzz.run([PLANTED], seed=7, seconds=3.0)
    assert set(found) == {("planted", "KeyError in test_fuzz_corpus.py:planted")}
    (kept,) = (tmp_path / "a" / "b" / "c" / "planted").iterdir()
    assert len(kept.read_bytes()) < len(SEED) / 4
    with pytest.raises(KeyError):
        fuzz.checked(PLANTED, kept.read_bytes())
    told = capsys.readouterr().out
    assert fuzz.run([PLANTED], seed=7, seconds=3.0) == found
    assert capsys.readouterr().out.splitlines()[0] == told.splitlines()[0]


def test_an_input_that_takes_too_long_is_a_fault() -> None:
    assert fuzz.fault_of(PLANTED, b'{"busy": true}') == "more than 0.2 s of processor time"
