"""``portcullis policy test``."""

import json
import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from service.authz.publishing.demand_table import TABLE
from service.features.policy_tests import commands_test as command
from tests.policies.stock import POLICIES, ROOT
from tests.service.test_commands import HEAVY, NEVER_USED, imported_by


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(POLICIES, tmp_path / "policies")).relative_to(tmp_path)


ONE_CASE = """\
callers: {lister: [system:user:list]}
cases:
  - {caller: lister, asks: GET /api/user/list, outcome: allow, layer: endpoint,
     line: "p, endpoint, GET /api/user/list, system:user:list", through: "p, resource, @unregistered, @login"}
"""


class Ran:
    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str, folder: Path) -> None:
        parser = ArgumentParser()
        command.add_arguments(parser)
        environ = {"PORTCULLIS_POLICY__FOLDER": str(folder)}
        self.status = command.run(parser.parse_args(arguments), environ)
        self.output, self.errors = capsys.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.output)


def keep_few(folder: Path) -> None:
    """Leave the openings, the lines of services and of ``ONE_CASE``, that case, and no statement."""
    fragments = ("@", "p, service,", "GET /api/user/list,")
    lines = (folder / "endpoints.csv").read_text().splitlines()
    kept = [line for line in lines if any(fragment in line for fragment in fragments)]
    (folder / "endpoints.csv").write_text("\n".join(kept))
    endpoints = {line.split(", ")[2] for line in kept if line.startswith("p, endpoint,")}
    rows = (folder / TABLE).read_text().splitlines()
    objects = {row: row.rpartition("| ")[2] for row in rows}
    left = [
        row
        for row, name in objects.items()
        if not name.startswith("endpoint ") or name.removeprefix("endpoint ") in endpoints
    ]
    (folder / TABLE).write_text("\n".join(left))
    stated = folder / "invariants.yaml"
    before, _, after = stated.read_text().partition("statements:")[0].partition("\nassurance:\n")
    stated.write_text("\nlines:".join((before, after.partition("\nlines:")[2])))
    (folder / "one.yaml").write_text(ONE_CASE)


def test_the_command_loads_no_store_and_no_server(tmp_path: Path) -> None:
    imported = imported_by(tmp_path, "policy", "test", str(POLICIES / "cases" / "openings.yaml"))

    assert imported & ((HEAVY | NEVER_USED) - {"casbin"}) == set()


def test_a_deleted_requirement_fails_the_cases_that_need_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    lines = folder / "endpoints.csv"
    lines.write_text(
        lines.read_text().replace("p, endpoint, DELETE /api/role/{id}, system:role:delete\n", "")
    )

    ran = Ran(capsys, "policies/cases/roles.yaml", folder=folder)

    assert ran.status == 1
    assert "delete asks DELETE /api/role/7, plain: outcome is deny, not allow" in ran.output


def test_a_failing_case_is_told_by_place_caller_enforcer_and_reason(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    lines = folder / "endpoints.csv"
    lines.write_text(lines.read_text().replace("{id}, system:role:delete", "{id}, system:role:update"))

    ran = Ran(capsys, "policies/cases/roles.yaml", "--json", folder=folder)

    assert ran.status == 1
    assert ran.json["passed"] is False
    assert {failure["enforcer"] for failure in ran.json["failures"]} == {"indexed", "plain"}
    first = ran.json["failures"][0]
    assert first["place"].startswith("policies/cases/roles.yaml:")
    assert first["asked"] == "delete asks DELETE /api/role/7"
    assert first["reasons"][0] == "outcome is deny, not allow"


def test_a_broken_invariant_fails(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    stated = folder / "invariants.yaml"
    stated.write_text(stated.read_text().replace("    - GET /api/user/info\n", ""))

    ran = Ran(capsys, "--coverage", "policies/cases/openings.yaml", folder=folder)

    assert ran.status == 1
    assert "Coverage and mutants are tested only if all cases and invariants hold." in ran.output
    assert "invariant broken: @login endpoint: GET /api/user/info is open, but not listed" in ran.output


def test_lines_that_no_case_depends_on_fail_the_coverage(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    keep_few(folder)

    ran = Ran(capsys, "--coverage", "policies/one.yaml", folder=folder)

    assert ran.status == 1
    assert "no case depends on the line 'p, endpoint, POST /api/auth/logout, @login'" in ran.output


@pytest.mark.extended
def test_a_surviving_mutant_fails_and_is_told_with_the_case_that_would_kill_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    keep_few(folder)

    ran = Ran(capsys, "--mutate", "--json", "policies/one.yaml", folder=folder)

    assert ran.status == 1
    assert ran.json["mutation"]["score"] < 1
    words = "wildcards widened: a * at the end may stand for no segment at all, in the layer endpoint"
    (survivor,) = [entry for entry in ran.json["mutation"]["survivors"] if entry["mutant"] == words]
    assert "outcome: deny" in survivor["case"]


@pytest.mark.parametrize("argument", ["nowhere.yaml", "model.conf"])
def test_what_can_not_be_read_gives_the_status_2(
    capsys: pytest.CaptureFixture[str], folder: Path, argument: str
) -> None:
    shutil.copy(ROOT / "model.conf", "model.conf")

    ran = Ran(capsys, argument, folder=folder)

    assert (ran.status, ran.output) == (2, "")
    assert argument in ran.errors
