"""Faults that an installation might have: each is found by ``policy lint --data``.

Those that files might have are in ``tests/features/policy_tests/test_seeded_faults.py``.
"""

from pathlib import Path

import psycopg
import pytest

from tests.policy_publishing.test_lint import linted

APART = """\
statements:
  - name: no-role-for-both
    reason: who creates users must not give rights to roles
    no_role_holds: ["system:user:create", "system:role:permission"]
    except_roles: [super, admin]
"""


def test_a_shadowed_resource_is_found(capsys: pytest.CaptureFixture[str], seeded_database_url: str) -> None:
    """``GET /api/report/7`` takes requests from the resource that guards all reports."""
    insert = (
        "INSERT INTO sys.resource (resource_name, resource_code, method, path) VALUES ('x', %s, 'GET', %s)"
    )
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(insert, ("reports", "/api/report/{id}"))
    before = [
        finding for finding in linted(capsys, seeded_database_url) if "/api/report/7" in finding["place"]
    ]
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(insert, ("seven", "/api/report/7"))

    after = {
        finding["finding"]: finding
        for finding in linted(capsys, seeded_database_url)
        if "/api/report/7" in finding["place"]
    }

    assert before == []
    assert after["resource-takes-requests"]["reason"] == (
        "it takes requests from GET /api/report/{id}, whose bindings no longer apply to them"
    )


def test_a_role_that_violates_separation_of_duties_is_found(
    capsys: pytest.CaptureFixture[str],
    seeded_database_url: str,
    tmp_path: Path,
) -> None:
    """The role ``clerk`` is given both codes past the service, which would have refused it."""
    stated = tmp_path / "ours.yaml"
    stated.write_text(APART)
    own = {"PORTCULLIS_POLICY__INVARIANTS": str(stated)}
    before = linted(capsys, seeded_database_url, **own)
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(
            "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('C', 'c', 'clerk')"
        )
        connection.execute(
            "INSERT INTO sys.role_menu (role_id, menu_id) SELECT role.id, menu.id FROM sys.role, sys.menu"
            " WHERE role_code = 'clerk' AND auth_mark IN ('system:user:create', 'system:role:permission')"
        )

    after = linted(capsys, seeded_database_url, **own)

    def broken(findings: list[dict[str, str]]) -> list[tuple[str, str]]:
        return [
            (finding["place"], finding["reason"])
            for finding in findings
            if finding["finding"] == "invariant-broken"
        ]

    assert broken(before) == []
    reason = "no-role-for-both: the role clerk holds system:user:create and system:role:permission"
    assert broken(after) == [(f"{stated}:2", reason)]
