"""Requests to every operation, made from the document by schemathesis, are answered as it says."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.running import ROOT, Running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

CONFIG = Path(__file__).with_name("schemathesis.toml")
SUPER: list[int] = [1]
NOBODY: list[int] = []
"""The ids of the roles of somebody who may do everything, and of somebody without any right."""
QUICK = ("--phases", "fuzzing", "--max-examples", "1")
THOROUGH = ("--phases", "examples,coverage,fuzzing", "--max-examples", "15")


@dataclass(frozen=True)
class Tried:
    """What a run said, and how often the service answered with which status meanwhile."""

    status: int
    output: str
    answers: Counter[int]


def tried(service: Running, folder: Path, roles: list[list[int]], *options: str) -> Tried:
    """Let schemathesis call the service, in turns for a user with each of ``roles``.

    The same ``options`` send the same.
    """
    before = len(service.log)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG), "run"]
    fixed = ("--seed", "1", "--no-shrink", "--continue-on-failure", "--warnings", "off")
    ended = subprocess.run(
        [*command, f"{service.url}/docs/openapi.json", *fixed, *options],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.consumers.fuzz_hooks",
            "FUZZ_URL": service.url,
            "FUZZ_KEEPER": ADMINISTRATOR,
            "FUZZ_PASSWORD": ADMINISTRATOR_PASSWORD,
            "FUZZ_ROLES": json.dumps(roles),
            "NO_PROXY": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    requests = [line for line in service.log[before:] if line["event"] == "request"]
    return Tried(ended.returncode, ended.stdout + ended.stderr, Counter(line["status"] for line in requests))


def assert_as_documented(trial: Tried) -> None:
    assert trial.status == 0, trial.output
    assert not [status for status in trial.answers if status >= 500], trial.answers


@pytest.mark.extended
def test_an_administrator_and_somebody_without_any_right_are_answered_as_documented(
    service: Running, tmp_path: Path
) -> None:
    trial = tried(service, tmp_path, [SUPER, NOBODY], *QUICK)
    assert_as_documented(trial)
    assert trial.answers[200] + trial.answers[201] > 40  # the session of the administrator was kept alive
    assert trial.answers[403] > 30


@pytest.mark.extended
@pytest.mark.parametrize("roles", [NOBODY, SUPER], ids=["nobody", "administrator"])  # who may change it last
def test_many_requests_are_answered_as_documented(service: Running, tmp_path: Path, roles: list[int]) -> None:
    assert_as_documented(tried(service, tmp_path, [roles], *THOROUGH))
