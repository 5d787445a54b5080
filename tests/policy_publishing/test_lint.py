"""``portcullis policy lint`` with a database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.cli import policy_lint
from tests.policy_publishing.test_sync import SECRET


def linted(capsys: pytest.CaptureFixture[str], url: str, *arguments: str, **variables: str) -> Any:
    parser = ArgumentParser()
    policy_lint.add_arguments(parser)
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": url, "JWT_SECRET": SECRET, **variables}
    status = policy_lint.run(parser.parse_args(["--json", *arguments]), environ)
    report = json.loads(capsys.readouterr().out)
    assert (status, report["database"]) == (0 if report["passed"] else 1, True)
    return report["findings"]


ACCEPTED = """\
accepted:
  - {finding: route-unregistered, place: "*", reason: the endpoint layer is enough for us}
  - {finding: code-held-by-wildcards-only, place: "system:*", reason: administrators hold them all}
  - {finding: resource-takes-requests, place: "GET /api/user/*", reason: each has its own code}
  - {finding: resource-open, place: GET /api/user/info, reason: everybody reads their own account}
  - {finding: resource-open, place: GET /api/user/profile, reason: everybody reads their own profile}
  - {finding: resource-open, place: GET /api/user/operations, reason: everybody reads what they may do}
  - {finding: role-contains-role, place: admin auditor, reason: an administrator may read all}
"""


def test_the_findings_of_a_new_installation_can_all_be_accepted_in_a_file_of_its_own(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "ours.yaml").write_text(ACCEPTED)

    findings = linted(capsys, seeded_database_url, "--accepted", str(tmp_path / "ours.yaml"))

    assert [finding for finding in findings if finding.get("accepted") is None] == []
    assert len(findings) > 50


def test_what_is_stored_is_looked_at(capsys: pytest.CaptureFixture[str], seeded_database_url: str) -> None:
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Old', 'old', 'GET', '/api/old')"
        )
        connection.execute("UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'")

    findings = {(finding["finding"], finding["place"]) for finding in linted(capsys, seeded_database_url)}

    assert ("resource-without-route", "GET /api/old") in findings
    assert ("resource-open", "GET /api/old") in findings
    assert ("binding-to-disabled-button", "GET /api/role/list system:role:list") in findings
    assert ("code-held-by-wildcards-only", "system:role:list") in findings
