"""The chaos trials judge: what a journal says wrongly, and a change that stays half made, fails a trial."""

from collections.abc import Iterator

import pytest
from chaos import shape_of
from chaos_trial import KINDS, ChaosBench, ChaosTrial
from rollout_bench import Ended
from rollout_trial import BrokenError

from nornir_railweave.rollout.rollouts import journals

pytestmark = pytest.mark.e2e


SLOW = KINDS.index("slow")
"""The seed of a rollout that comes to its end."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosBench]:
    made = ChaosBench(tmp_path_factory.mktemp("chaos"), shape_of(SLOW))
    yield made
    made.close()


class LyingJournal(ChaosTrial):
    """Its journal says that devices are old which are new."""

    def _journal_agrees(self) -> None:
        path = journals(self.operator.journals)[-1]
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"outcome": "new"', '"outcome": "old"'), encoding="utf-8")
        super()._journal_agrees()


class HalfMade(ChaosTrial):
    """After its rollout one row of a switch is another one."""

    def _roll_out(self) -> Ended:
        ended = super()._roll_out()
        device = sorted(self.before)[0]
        self.bench.fabric.ask("write", device=device, rows={"QUEUE|Ethernet0|3": {"scheduler": "by-hand"}})
        return ended


def test_a_row_that_no_intent_and_no_hand_explains_fails_a_trial(bench: ChaosBench) -> None:
    with pytest.raises(BrokenError, match="QUEUE"):
        HalfMade(bench, SLOW).run()


def test_a_journal_that_says_other_than_the_switches_fails_a_trial(bench: ChaosBench) -> None:
    with pytest.raises(BrokenError, match="is not what the journal"):
        LyingJournal(bench, SLOW).run()


def test_the_same_trial_without_either_passes(bench: ChaosBench) -> None:
    assert ChaosTrial(bench, SLOW).run().fault_kind == "slow"
