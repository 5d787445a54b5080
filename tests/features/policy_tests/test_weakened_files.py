"""What opens more than the shipped files, or demands less, is refused or found, in use or not."""

import re
import shutil
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from service.authz.engine.lines import Lines
from service.authz.engine.rules import PolicyError
from service.authz.publishing.demand_table import LEVELS, TABLE, read_table
from service.authz.publishing.shipped import Shipped, read_shipped
from service.features.policy_tests import commands_check as policy_check
from service.kernel import account_acts
from service.laboratory.findings.file_findings import weaker_demands
from service.laboratory.invariants.checking import check
from service.laboratory.table_run import ENFORCERS
from service.laboratory.tables import Table, read_tables
from service.laboratory.tested import tested as result_of
from service.settings import load
from service.settings.sections.policy import Demands
from tests.policies.stock import MODEL, POLICIES
from tests.support.cases import with_each
from tests.support.demand_rows import set_demands
from tests.support.unstarted import SHIPPED

FACTORS = "account change-factors self"
OWN_FACTORS = "endpoint GET /api/user/profile/factors"
PASSWORD = "endpoint PUT /api/user/profile/password"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped files."""
    shutil.copytree(POLICIES, tmp_path / "policies")
    return tmp_path / "policies"


def broken(own: Shipped) -> list[str]:
    violations = check(own.invariants, own.policy(Lines(), {}, 0)).violations
    return [f"{violation.statement.name}: {violation.finding}" for violation in violations]


@with_each("level", LEVELS)
def test_the_shipped_demands_are_those_of_the_exact_list(level: Demands) -> None:
    own = read_shipped(assurance=level)
    assert broken(own) == []
    assert list(weaker_demands(own, own.assurance, level)) == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("name", "words"),
    [(FACTORS, "@initial"), (OWN_FACTORS, "@login @service")],
    ids=["a weaker word", "keys beside people"],
)
def test_a_weaker_demand_breaks_the_exact_list_and_is_weaker_than_the_shipped_one(
    folder: Path, level: Demands, name: str, words: str
) -> None:
    set_demands(folder, name, words, level)
    own = read_shipped(MODEL, folder, assurance=level)
    shipped = read_table(POLICIES / TABLE)[level]

    assert [each.partition(" demands ")[0] for each in broken(own)] == [f"assurance {level}: {name}"]
    assert [each.place for each in weaker_demands(own, shipped, level)] == [f"{level} {name}"]


def test_a_stronger_demand_is_no_weaker_one(folder: Path) -> None:
    set_demands(folder, PASSWORD, "@login @service", "base")
    own = read_shipped(MODEL, folder)

    assert list(weaker_demands(own, SHIPPED.assurance, "base")) == []
    assert broken(own) != []


def test_a_column_of_demands_that_is_not_in_use_is_tested_and_checked_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_demands(folder, FACTORS, "@login", "everybody")
    variables = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_POLICY__FOLDER": str(folder)}
    for path in (folder / "cases").iterdir():
        if path.name != "sign-in.yaml":
            path.unlink()
    # `dev.py check` asks the plain enforcer, and the table of the catalogue.
    monkeypatch.delitem(ENFORCERS, "plain")
    monkeypatch.setattr(
        "service.laboratory.tested.table_of", lambda *_: Table(Path("none"), Lines(SHIPPED.rules), ())
    )

    status = policy_check.run(Namespace(lines=False, table=False), variables)
    printed = capsys.readouterr().out
    result = result_of(load(variables), (), coverage=False, mutate=False)

    assert status == 1
    assert "demand-weaker-than-shipped: everybody account change-factors self: @login is enough" in printed
    assert "invariant-broken" in printed
    assert "lines are not in order" in printed
    assert not result.passed
    assert any("assurance everybody: account change-factors self" in each for each in result.invariants)
    assert any("assurance.yaml" in failure.place for failure in result.failures)


def test_files_without_a_list_of_demands_are_a_finding() -> None:
    kept = [each for each in SHIPPED.invariants.statements if not each.name.startswith("assurance ")]
    assert replace(SHIPPED.invariants, statements=tuple(kept)).unlisted == ("assurance",)


@pytest.mark.parametrize(
    "name",
    [
        "more.csv",
        "assurance/strict.csv",
        "cases/lines.csv",
        "BASE.CSV",
        "Assurance.table",
        "more/assurance.table",
    ],
)
def test_a_file_of_lines_that_nobody_reads_is_refused(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("p, endpoint, DELETE /api/user/{id}, @anyone\n")
    with pytest.raises(PolicyError, match=re.escape(f"{name}: unknown file")):
        read_shipped(MODEL, folder)


def test_a_decision_table_that_nobody_reads_is_refused(folder: Path) -> None:
    (folder / "cases" / "more.yml").write_text("cases: []\n")
    with pytest.raises(PolicyError, match=r"more\.yml: unknown file"):
        read_tables([folder / "cases"], SHIPPED)


@pytest.mark.parametrize("code", ["@login", "system:user:update"])
@pytest.mark.parametrize(
    "name", ["set-roles self", "create-key by-key", "set-password same-service", "forward by-person"]
)
def test_a_line_that_opens_what_stays_closed_is_refused(folder: Path, name: str, code: str) -> None:
    with (folder / "accounts.csv").open("a") as lines:
        lines.write(f"p, account, {name}, {code}\n")
    with pytest.raises(PolicyError, match=f"'{name}' is always closed, so no line can open it"):
        read_shipped(MODEL, folder)


def test_what_the_shipped_lines_leave_out_stays_closed_and_can_be_closed_in_words(folder: Path) -> None:
    opened = {rule.object for rule in SHIPPED.accounts if rule.layer == "account"}
    assert opened | account_acts.NEVER_OPEN == account_acts.OBJECTS
    assert not opened & account_acts.NEVER_OPEN
    with (folder / "accounts.csv").open("a") as lines:
        lines.write("p, account, set-roles self, @nobody\n")
    assert read_shipped(MODEL, folder)
