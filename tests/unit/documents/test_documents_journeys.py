"""Before each step of a journey there is a mistake whose message names the fix; `make e2e` runs both."""

from pathlib import Path

import pytest
from journey_steps import commands_named, is_meant, is_mistake, journey_steps, page_steps
from shell_session import ROOT, Command, FileEdit

JOURNEYS = sorted((ROOT / "tests" / "e2e" / "journeys").glob("*.md"))
STEPS = [(page, step) for page in JOURNEYS for step in journey_steps(page_steps(page))]


def test_there_are_ten_journeys_of_several_steps() -> None:
    assert len(JOURNEYS) == 10
    assert {page for page, _ in STEPS} == set(JOURNEYS)
    assert min(sum(one is page for one, _ in STEPS) for page in JOURNEYS) >= 5


@pytest.mark.parametrize("page", JOURNEYS, ids=lambda page: page.stem)
def test_every_step_of_a_journey_is_first_done_wrongly(page: Path) -> None:
    untried = [f"{step.command.line}: {step.name}" for at, step in STEPS if at is page and not step.mistakes]
    assert untried == [], "none of these commands is refused before it succeeds"


@pytest.mark.parametrize("page", JOURNEYS, ids=lambda page: page.stem)
def test_every_message_names_the_fix_that_works(page: Path) -> None:
    mistakes = [mistake for at, step in STEPS if at is page for mistake in step.mistakes]
    unfixed = [f"{mistake.command.line}: {sorted(mistake.fix)}" for mistake in mistakes if not mistake.named_fix]
    assert unfixed == [], "nothing of these fixes is in the message"


@pytest.mark.parametrize("page", JOURNEYS, ids=lambda page: page.stem)
def test_every_mistake_of_a_journey_is_followed_by_what_works(page: Path) -> None:
    done = page_steps(page)
    for at, step in enumerate(done):
        if isinstance(step, Command) and is_mistake(step):
            later = {name for one in done[at + 1 :] if isinstance(one, Command) for name in _succeeding(one)}
            assert any(is_meant(step, name) for name in later) or later & {*_named_in(step)}, f"{page.name}:{step.line}"


def _succeeding(command: Command) -> list[str]:
    return [] if is_mistake(command) else list(commands_named(command))


def _named_in(command: Command) -> list[str]:
    """Return the commands that the message of a failed one names."""
    text = "\n".join(command.shown).replace("`", " ")
    return list(commands_named(Command(command.line, text, 0, (), (0, 0), "")))


def command(text: str, status: int = 0, *shown: str) -> Command:
    return Command(1, text, status, shown, (0, 0), "")


def test_a_step_without_a_mistake_of_its_own_is_found() -> None:
    wrong = command("railweave verify --target simm", 64, "error: no target 'simm' (available targets: lab, sim)")
    right = command("railweave verify --target sim")
    first, second = journey_steps([wrong, right, right])
    assert [one.command for one in first.mistakes] == [wrong]
    assert first.mistakes[0].named_fix == {"sim"}
    assert second.mistakes == ()


def test_a_message_that_does_not_name_the_fix_is_found() -> None:
    wrong = command("railweave check", 1, "error[RW010]: unknown key `stripes`", "  fix: look it up")
    edit = FileEdit(1, "intent/a.yml", "  stripes: 4\n", "  stripe: 4\n")
    (step,) = journey_steps([wrong, edit, command("railweave check")])
    assert step.mistakes[0].fix == {"stripe", "railweave", "check"}
    assert not step.mistakes[0].named_fix


def test_drift_that_is_found_is_no_mistake() -> None:
    assert not is_mistake(command("railweave drift --exit-code", 2, "lab: drift"))
    assert is_mistake(command("railweave drift --exit-code", 2, "error[RW511]: this rule ended"))
    assert is_mistake(command("make deploy", 2))


def test_a_command_within_a_line_of_the_shell_is_found() -> None:
    line = "export SERIAL=$(railweave sim replace lab-spine2 | cut -c1) && make sim-down"
    assert list(commands_named(command(line))) == ["railweave sim replace", "make sim-down"]
    assert list(commands_named(command("railweave --version"))) == ["railweave"]
