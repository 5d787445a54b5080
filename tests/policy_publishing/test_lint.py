"""``portcullis policy lint`` with a database."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.features.policy_tests import commands_lint as policy_lint
from tests.policy_publishing.test_sync import SECRET


def linted(capsys: pytest.CaptureFixture[str], url: str, *arguments: str, **variables: str) -> Any:
    parser = ArgumentParser()
    policy_lint.add_arguments(parser)
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": url, "JWT_SECRET": SECRET, **variables}
    status = policy_lint.run(parser.parse_args(["--json", *arguments]), environ)
    report = json.loads(capsys.readouterr().out)
    assert (status, report["database"]) == (0 if report["passed"] else 1, True)
    return report["findings"]


def left(findings: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return those that nobody has accepted, as code and place."""
    return {(finding["finding"], finding["place"]) for finding in findings if finding.get("accepted") is None}


OURS = """\
accepted:
  - {finding: route-unregistered, place: "*", reason: the endpoint layer is enough for us}
  - {finding: role-contains-role, place: admin auditor, reason: an administrator may read all}
"""


def test_a_new_installation_has_nothing_to_report_and_shows_what_ships_with_the_reason(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str, tmp_path: Path
) -> None:
    findings = linted(capsys, seeded_database_url)
    assert left(findings) == set()
    assert len(findings) > 100
    assert all(finding["accepted"] for finding in findings)
    (tmp_path / "ours.yaml").write_text(OURS)
    accepted = linted(capsys, seeded_database_url, "--accepted", str(tmp_path / "ours.yaml"))
    assert left(accepted) == set()  # nor is an acceptance of what ships anyway too much
    assert "an administrator may read all" in {finding["accepted"] for finding in accepted}


def test_persons_without_the_factors_that_their_codes_demand_are_named_until_they_have_one(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str
) -> None:
    def unmet() -> list[tuple[str, str]]:
        findings = linted(capsys, seeded_database_url, PORTCULLIS_POLICY__ASSURANCE="administrators")
        return [(each["place"], each["reason"]) for each in findings if each["finding"] == "demand-unmet"]

    ((place, reason),) = unmet()
    assert place == "super pwd"
    assert reason.startswith("1 person with no second factor: ")
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(
            "INSERT INTO sys.user_factor (user_id, kind, factor_name, confirm_time, sealed_secret)"
            " SELECT id, 'totp', 'App', now(), 'sealed' FROM sys.user WHERE kind = 'person'"
        )
    assert unmet() == []


SAME_KINDS = [
    (
        "DELETE FROM sys.resource WHERE resource_code = 'user.list'",
        "route-unregistered",
        "GET /api/user/list",
    ),
    (
        (
            "DELETE FROM sys.action_resource USING sys.resource"
            " WHERE resource_id = sys.resource.id AND resource_code = 'user.list'"
        ),
        "resource-open",
        "GET /api/user/list",
    ),
    (
        (
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Bans', 'bans', 'GET', '/api/user/bans')"
        ),
        "resource-takes-requests",
        "GET /api/user/bans",
    ),
    (
        (
            "DELETE FROM sys.role_menu USING sys.menu, sys.role WHERE menu_id = sys.menu.id"
            " AND role_id = sys.role.id AND role_code = 'auditor' AND auth_mark = 'system:role:list'"
        ),
        "code-held-by-wildcards-only",
        "system:role:list",
    ),
    (
        "DELETE FROM sys.role_menu USING sys.role WHERE role_id = sys.role.id AND role_code = 'admin'",
        "code-held-by-nobody",
        "system:file:upload",
    ),
    (
        (
            "WITH made AS (INSERT INTO sys.role (role_code, role_name, role_name_key)"
            " VALUES ('help', 'Help', 'help') RETURNING id) INSERT INTO sys.role_menu (role_id, menu_id)"
            " SELECT made.id, sys.menu.id FROM made, sys.menu WHERE auth_mark = 'system:user:list'"
        ),
        "role-contains-role",
        "admin help",
    ),
]


@pytest.mark.parametrize(("change", "finding", "place"), SAME_KINDS, ids=[kind for _, kind, _ in SAME_KINDS])
def test_a_fault_of_a_kind_that_ships_is_found_where_an_administrator_makes_it(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str, change: str, finding: str, place: str
) -> None:
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(change.encode())
    assert (finding, place) in left(linted(capsys, seeded_database_url))


def test_a_route_without_a_resource_is_found_where_such_routes_are_closed(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str
) -> None:
    findings = linted(capsys, seeded_database_url, PORTCULLIS_POLICY__UNREGISTERED="deny")
    assert ("route-unregistered", "POST /api/file") in left(findings)


def test_what_is_stored_is_looked_at(capsys: pytest.CaptureFixture[str], seeded_database_url: str) -> None:
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Old', 'old', 'GET', '/api/old')"
        )
        connection.execute("UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'")

    findings = left(linted(capsys, seeded_database_url))

    assert ("resource-without-route", "GET /api/old") in findings
    assert ("resource-open", "GET /api/old") in findings
    assert ("binding-to-disabled-button", "GET /api/role/list system:role:list") in findings
    assert ("code-held-by-wildcards-only", "system:role:list") in findings
