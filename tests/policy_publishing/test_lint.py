"""``portcullis policy lint`` with a database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

import psycopg
import pytest

from service.launch.policy import lint
from tests.policy_publishing.test_sync import SECRET


def linted(capsys: pytest.CaptureFixture[str], url: str) -> Any:
    parser = ArgumentParser()
    lint.add_arguments(parser)
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": url, "JWT_SECRET": SECRET}
    status = lint.run(parser.parse_args(["--json"]), environ)
    found = json.loads(capsys.readouterr().out)
    assert (status, found["database"]) == (0 if found["passed"] else 1, True)
    return found["findings"]


def test_a_new_installation_has_only_accepted_findings_about_resources_and_roles(
    capsys: pytest.CaptureFixture[str], seeded_database_url: str
) -> None:
    left = {one["finding"] for one in linted(capsys, seeded_database_url) if one.get("accepted") is None}

    # Administrators register routes and give codes to roles as they need them.
    assert left == {"route-unregistered", "code-held-by-wildcards-only", "resource-takes-requests"}


def test_what_is_stored_is_looked_at(capsys: pytest.CaptureFixture[str], seeded_database_url: str) -> None:
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute(
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Old', 'old', 'GET', '/api/old')"
        )
        connection.execute("UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'")

    found = {(one["finding"], one["place"]) for one in linted(capsys, seeded_database_url)}

    assert ("resource-without-route", "GET /api/old") in found
    assert ("resource-open", "GET /api/old") in found
    assert ("binding-to-disabled-button", "GET /api/role/list system:role:list") in found
    assert ("code-held-by-wildcards-only", "system:role:list") in found
