"""The cause of a failed command: the first line of an error, without one the end of standard error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave_switch.host import Done
from railweave_switch.steps import StepError, headline, run_command

PROGRESS = "\n".join(f"Running command: step {number}" for number in range(12))


class Failing:
    """A machine on which every command fails."""

    def __init__(self, out: str, err: str) -> None:
        self.done = Done(1, out, err)

    def run(self, words: object, timeout_s: float, stdin: str = "") -> Done:
        return self.done


def cause_of(out: str, err: str) -> str:
    with pytest.raises(StepError) as failed:
        run_command(Failing(out, err), ["config", "reload", "-y"], 60)  # type: ignore[arg-type]
    assert headline(failed.value.said)[:300] in str(failed.value), "the driver finds the same in what is quoted"
    return str(failed.value).removeprefix("config reload -y: ")


def test_without_an_error_line_it_is_the_end_of_standard_error() -> None:
    said = "Job for sonic.target failed.\nSee systemctl status"
    assert cause_of(PROGRESS, said) == "Job for sonic.target failed. / See systemctl status"
    assert cause_of("", said) == "Job for sonic.target failed. / See systemctl status"
    long = "\n".join(f"line {number}" for number in range(20))
    assert cause_of(PROGRESS, long) == "line 16 / line 17 / line 18 / line 19"


def test_an_error_line_of_either_stream_goes_first() -> None:
    assert cause_of(f"{PROGRESS}\nError: no such table", "warning: slow disk") == "Error: no such table"
    assert cause_of(PROGRESS, "warning: slow disk\nError: no such table").startswith("Error: no such table")


def test_without_standard_error_it_is_the_end_of_the_output() -> None:
    assert (
        cause_of(f"{PROGRESS}\nKilled", "")
        == "Running command: step 9 / Running command: step 10 / Running command: step 11 / Killed"
    )
    assert "exit status 1" in cause_of("", "")


WORDS = st.lists(st.sampled_from(["a b", "Running command: x", "done", "note: y", ""]), max_size=8).map("\n".join)


@given(out=WORDS, err=WORDS.filter(str.strip))
def test_its_last_words_are_those_of_standard_error(out: str, err: str) -> None:
    last = [line.strip() for line in err.splitlines() if line.strip()]
    assert cause_of(out, err).split(" / ")[-1] == last[-1]
