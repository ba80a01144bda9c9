"""A login that prints text into every session, before the answers of commands, is named as what it is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from napalm.base.exceptions import CommandErrorException

from napalm_sonic.driver import SonicDriver

NOISE = "*** AUTHORIZED USE ONLY ***\nLast login: today\n"
SENTENCE = (
    'the login prints text before answers, so that none can be read: "*** AUTHORIZED USE ONLY *** / Last login: today"'
)


@pytest.fixture
def noisy(served: Any) -> Iterator[SonicDriver]:
    execute = served.switch.execute

    def with_noise(command: str, stdin: str) -> tuple[int, str, str]:
        if command == "true":
            return 0, NOISE, ""
        status, out, err = execute(command, stdin)
        return status, NOISE + out, err

    served.switch.execute = with_noise
    driver = served.driver()
    driver.open()
    yield driver
    driver.close()


def commit(driver: SonicDriver) -> None:
    driver.load_merge_candidate(config='{"PORT": {"Ethernet0": {"mtu": "9000"}}}')
    driver.commit_config()


def compare(driver: SonicDriver) -> None:
    driver.load_merge_candidate(config='{"PORT": {}}')
    driver.compare_config()


ASKED: dict[str, Callable[[SonicDriver], object]] = {
    "facts": lambda driver: driver.get_facts(),
    "reading": lambda driver: driver.revert_timer.read(),
    "status": lambda driver: driver.has_pending_commit(),
    "comparison": compare,
    "commit": commit,
}


@pytest.mark.parametrize("what", ASKED)
def test_text_of_the_login_is_told_in_one_sentence(what: str, noisy: SonicDriver) -> None:
    with pytest.raises(CommandErrorException) as refused:
        ASKED[what](noisy)
    assert str(refused.value).startswith(f"127.0.0.1: {SENTENCE}; ")
    assert str(refused.value).count("AUTHORIZED") == 1


def test_a_configuration_in_which_only_text_comes_first_is_read(noisy: SonicDriver) -> None:
    assert '"Ethernet0"' in noisy.get_config(retrieve="running")["running"]


def test_a_damaged_answer_without_such_text_stays_what_it_is(driver: SonicDriver, switch: Any) -> None:
    switch.refuse["true"] = (0, "", "")
    switch.refuse["/usr/local/bin/railweave-switch"] = (0, "garbage", "")
    with pytest.raises(CommandErrorException, match=r"railweave-switch: garbage \(its answer is no JSON"):
        driver.revert_timer.read()
