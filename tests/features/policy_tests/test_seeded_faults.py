"""Faults that the files of a policy might have: each is found by ``policy test`` or ``policy lint``.

Those that an installation might have are in ``tests/policy_publishing/test_seeded_faults.py``.
"""

import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from service.features.policy_tests import commands_lint as policy_lint
from service.features.policy_tests import commands_test as policy_test
from service.kernel.codes import HeldCodes
from tests.policies.stock import MODEL, POLICIES

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of model and policies, in the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(POLICIES, tmp_path / "policies")
    shutil.copy(MODEL, tmp_path / "model.conf")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(command: ModuleType, *arguments: str) -> tuple[int, str]:
        """Return the status and what was printed, without the line that names the source."""
        parser = ArgumentParser()
        command.add_arguments(parser)
        environ = {
            "PORTCULLIS_CONFIG": "",
            "PORTCULLIS_SERVER__DATA": str(folder / "none"),
            "PORTCULLIS_POLICY__MODEL": str(folder / "model.conf"),
            "PORTCULLIS_POLICY__FOLDER": "policies",
        }
        options: Namespace = parser.parse_args(arguments)
        status = command.run(options, environ)
        source, _, answer = (printed := "".join(capsys.readouterr())).partition("\n")
        return status, answer if source.startswith("Source: the policy files; ") else printed

    return ran


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_the_shipped_files_have_no_finding_that_is_not_accepted(run: Run) -> None:
    assert run(policy_lint) == (0, "0 findings in files; 48 more are accepted.\n")


def test_a_widened_wildcard_is_found_by_the_cases(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """``system:*`` opens ``system`` as well."""
    narrow = HeldCodes.holds_subtree

    def wide(self: HeldCodes, code: str) -> bool:
        return narrow(self, code) or tuple(code.split(":")) in self.subtrees

    monkeypatch.setattr(HeldCodes, "holds_subtree", wide)
    status, reported = run(policy_test, "policies/cases/wildcards.yaml")

    assert status == 1
    assert "system asks GET /api/c in the layer resource, plain: outcome is allow, not deny" in reported


def test_a_line_with_a_wildcard_is_found_by_the_invariants(run: Run, folder: Path) -> None:
    lines = folder / "policies" / "endpoints.csv"
    edit(lines, "DELETE /api/user/{id}, system:user:delete", "DELETE /api/user/{id}, system:*")

    status, reported = run(policy_lint)

    assert status == 1
    assert "invariant-broken: policies/invariants.yaml:" in reported
    assert "codes: the code system:* does not match" in reported


def test_a_deleted_requirement_is_found_by_the_cases_and_against_the_routes(run: Run, folder: Path) -> None:
    lines = folder / "policies" / "endpoints.csv"
    edit(lines, "p, endpoint, DELETE /api/user/{id}, system:user:delete\n", "")

    assert (
        "deleter asks DELETE /api/user/7, indexed: outcome is deny"
        in run(policy_test, "policies/cases/accounts.yaml")[1]
    )
    status, reported = run(policy_lint)
    assert status == 1
    assert (
        "routes-differ: policies/endpoints.csv: DELETE /api/user/{id}: the route has no endpoint line"
        in reported
    )
    assert "case-about-unknown-object: policies/cases/accounts.yaml:" in reported


def test_a_dropped_equality_is_found_in_the_model(run: Run, folder: Path) -> None:
    edit(folder / "model.conf", "r.object == p.object && ", "")

    status, reported = run(policy_lint)

    assert status == 1
    assert reported.startswith("policy-refused: ")
    assert "'r.object == p.object' must apply to every line" in reported


@pytest.mark.parametrize(
    "back_door",
    ['|| p.object == "POST /api/user/import"', '|| (isLoggedIn(r.caller) && p.code == "system:user:create")'],
)
def test_a_back_door_in_the_matcher_is_found_in_the_model(run: Run, folder: Path, back_door: str) -> None:
    edit(
        folder / "model.conf",
        "|| holdsPattern(r.caller, p.code) \\",
        f"|| holdsPattern(r.caller, p.code) \\\n    {back_door} \\",
    )

    status, reported = run(policy_lint)

    assert status == 1
    assert reported.startswith("policy-refused: ")
    assert "is not allowed: except for the two outer equalities, a comparison must be" in reported
    assert run(policy_test)[0] == 2


def test_an_opening_that_voids_a_binding_is_found_in_the_lines(run: Run, folder: Path) -> None:
    opening = "p, resource, @unregistered, @login\n"
    edit(folder / "policies" / "base.csv", opening, f"{opening}p, resource, GET /api/role/list, @login\n")

    status, reported = run(policy_lint)

    assert status == 1
    assert (
        "the object must be one of @unregistered, @no-session, @preflight, not 'GET /api/role/list'"
        in reported
    )


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        (
            "base.csv",
            "p, resource, billing @unregistered, @anyone",
            "@anyone resource: billing @unregistered is open, but not listed",
        ),
        (
            "base.csv",
            "p, resource, billing @unregistered, @login",
            "@login resource: billing @unregistered is open, but not listed",
        ),
        (
            "base.csv",
            "p, resource, billing @unregistered, system:role:list",
            "'p, resource, billing @unregistered, system:role:list' gives access, but is not listed",
        ),
        (
            "base.csv",
            "p, resource, @no-session, system:role:list",
            "'p, resource, @no-session, system:role:list' gives access, but is not listed",
        ),
        (
            "endpoints.csv",
            "p, service, portcullis bind, system:role:list",
            "'p, service, portcullis bind, system:role:list' gives access, but is not listed",
        ),
    ],
)
def test_whatever_else_the_files_open_is_found_by_the_exact_lists(
    run: Run, folder: Path, name: str, line: str, message: str
) -> None:
    with (folder / "policies" / name).open("a", encoding="utf-8") as lines:
        lines.write(f"{line}\n")

    for command in ((policy_lint,), (policy_test, "policies/cases/openings.yaml")):
        status, printed = run(*command)
        assert (status, message in printed) == (1, True), printed


def test_a_line_that_is_listed_and_does_not_stand_in_the_files_is_found(run: Run, folder: Path) -> None:
    line = "p, service, portcullis bind, system:resource:bind"
    edit(folder / "policies" / "endpoints.csv", line, line.replace("resource:bind", "resource:list"))

    assert f"'{line}' is listed, but no such line exists" in run(policy_lint)[1]


def test_files_without_exact_lists_are_found(run: Run, folder: Path) -> None:
    stated = folder / "policies" / "invariants.yaml"
    text = stated.read_text("utf-8")
    stated.write_text(text.replace("lines:\n", "# \n").replace("  - p, ", "  # p, "), "utf-8")
    status, reported = run(policy_lint)
    assert status == 1
    assert reported.splitlines() == [
        (
            "openings-unlisted: invariants.yaml lines: the complete list of objects that the files open "
            "by a code is missing"
        ),
        "1 finding in files; 48 more are accepted.",
    ]

    stated.unlink()
    status, reported = run(policy_lint)
    assert status == 1
    assert reported.count("openings-unlisted: ") == 5
    assert (
        "openings-unlisted: invariants.yaml @anyone: the complete list of objects that the files "
        "open to @anyone is missing"
    ) in reported


def test_a_list_that_older_files_have_not_is_found(run: Run, folder: Path) -> None:
    stated = folder / "policies" / "invariants.yaml"
    stated.write_text(stated.read_text("utf-8").replace("  account: []\n", ""), "utf-8")
    status, reported = run(policy_lint)
    assert status == 1
    assert reported.splitlines()[:-1] == [
        f"openings-unlisted: invariants.yaml {word} account: "
        f"the complete list of objects that the files open to {word} in the layer account is missing"
        for word in ("@anyone", "@nobody")
    ]


def test_a_login_that_is_enough_to_change_something_is_found(run: Run, folder: Path) -> None:
    lines = folder / "policies" / "endpoints.csv"
    edit(lines, "DELETE /api/user/{id}, system:user:delete", "DELETE /api/user/{id}, @login")

    assert "login-alone-changes: DELETE /api/user/{id}: " in run(policy_lint)[1]


def test_a_case_about_a_mistyped_object_is_found(run: Run, folder: Path) -> None:
    cases = folder / "policies" / "cases" / "openings.yaml"
    edit(
        cases,
        "    required: []\n    reason: no_line\n\n  # Public access",
        "    required: []\n\n  # Public access",
    )

    status, reported = run(policy_lint)

    assert status == 1
    assert "no line of the layer endpoint names GET /api/never/declared" in reported


def test_cases_and_invariants_that_do_not_parse_are_found(run: Run, folder: Path) -> None:
    edit(folder / "policies" / "cases" / "tables.yaml", "callers:", "caller:")
    assert "table-unreadable: policies/cases/tables.yaml:" in run(policy_lint)[1]

    edit(folder / "policies" / "invariants.yaml", "\ncodes:", "\ncode:")
    assert "policy-refused: policies/invariants.yaml:" in run(policy_lint)[1]


def test_acceptances_that_can_not_be_read_give_the_status_2(run: Run, folder: Path) -> None:
    edit(folder / "policies" / "accepted.yaml", "\naccepted:", "\naccept:")

    assert run(policy_lint)[0] == 2
