"""Whole files of every format, byte by byte; ``RAILWEAVE_UPDATE_GOLDEN=1`` rewrites them: look at the difference."""

import os
from pathlib import Path

import pytest
from exported import CLUSTER, cluster, source_of, text_of

from railweave.export.model import ExportOptions
from railweave.export.registry import FORMATS

HERE = Path(__file__).parent


def kept(name: str, text: str) -> str:
    file = HERE / name
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_written_as_before(name: str) -> None:
    text = text_of(cluster(), name)
    assert text == kept(f"{name}{Path(FORMATS[name].file).suffix}", text)


def test_an_older_operator_gets_only_the_fields_that_it_has() -> None:
    text = text_of(cluster(options=ExportOptions(release="26.4")), "nic-configuration")
    assert text == kept("nic-configuration-26.4.yaml", text)


def test_nodes_behind_a_drained_leaf_are_left_out_by_name() -> None:
    text = text_of(cluster({"ai1-leaf3": "is drained", "ai1-spine1": "is drained"}), "slurm-tree")
    assert text == kept("slurm-tree-live.conf", text)


def test_the_intent_is_the_whole_input() -> None:
    again = source_of(CLUSTER.read_text(encoding="utf-8"))
    assert [text_of(again, name) for name in FORMATS] == [text_of(cluster(), name) for name in FORMATS]
