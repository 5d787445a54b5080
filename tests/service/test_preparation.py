"""A start is checked and prepared in a process of its own, whose end is never taken for success."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from service.server.preparation import Preparation, PreparationError
from service.settings import Database, Policy, Settings
from tests.support.running import lives
from tests.support.waiting import eventually

SETTINGS = Settings()


def process_of(preparation: Preparation) -> int:
    pid = preparation._process.pid
    assert pid is not None
    return pid


def test_a_preparation_that_is_killed_ends_the_start_in_words() -> None:
    with Preparation(SETTINGS) as preparation:
        os.kill(process_of(preparation), signal.SIGKILL)
        with pytest.raises(PreparationError, match="ended with status -9"):
            preparation.check()


def test_what_is_wrong_is_told_as_the_part_that_found_it_says_it(tmp_path: Path) -> None:
    (tmp_path / "model.conf").write_text("nothing")
    settings = replace(SETTINGS, policy=replace(Policy(), model=tmp_path / "model.conf"))
    with Preparation(settings) as preparation, pytest.raises(PreparationError, match=r"model\.conf"):
        preparation.check()


def test_a_store_that_is_out_of_reach_ends_the_start_after_the_checks_have_passed(tmp_path: Path) -> None:
    nowhere = replace(SETTINGS, database=replace(Database(), url=f"postgresql:///x?host={tmp_path}"))
    with Preparation(SETTINGS) as preparation:
        preparation.check()
        with pytest.raises(PreparationError, match="database"):
            preparation.prepare(nowhere, None)


def test_a_start_that_is_given_up_leaves_no_preparation() -> None:
    pids = []

    def give_up() -> None:
        with Preparation(SETTINGS) as preparation:
            pids.append(process_of(preparation))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_up()
    assert eventually(lambda: not lives(pids[0]))
