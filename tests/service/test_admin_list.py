"""``portcullis admin list``: who there is, and who may do everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.service.conftest import variables_for
from tests.support.running import Ended, portcullis


@pytest.fixture
def variables(seeded_database_url: str) -> dict[str, str]:
    """A database with an administrator, an auditor, and an otter in a role that is disabled."""
    variables = variables_for(seeded_database_url, "redis://127.0.0.1:1/0")
    with psycopg.connect(seeded_database_url) as connection:
        for name, role in (("heron", "auditor"), ("otter", "super")):
            connection.execute(
                "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
                " VALUES (%s, %s, 'Nick', '$argon2id$a secret hash')",
                (name, name),
            )
            connection.execute(
                "INSERT INTO sys.user_role SELECT u.id, r.id FROM sys.user u, sys.role r"
                " WHERE u.user_name = %s AND r.role_code = %s",
                (name, role),
            )
        connection.execute("UPDATE sys.user SET status = 'disabled' WHERE user_name = 'otter'")
        connection.execute("UPDATE sys.role SET enabled = false WHERE role_code = 'auditor'")
    return variables


def listed(folder: Path, variables: dict[str, str], *options: str) -> Ended:
    return portcullis(folder, "admin", "list", *options, **variables)


def test_the_table_shows_each_user_with_status_roles_and_power(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    done = listed(tmp_path, variables)

    assert (done.status, done.errors) == (0, "")
    head, *lines = done.output.splitlines()
    assert head.split("  ")[0] == "ID"
    cells = [line.split() for line in lines]
    assert [(*row[:5], row[-1]) for row in cells] == [
        ("1", "admin", "person", "enabled", "yes", "super"),
        ("2", "heron", "person", "enabled", "no", "(auditor)"),
        ("3", "otter", "person", "disabled", "no", "super"),
    ]
    assert "argon2" not in done.output


def test_for_programs_the_list_is_json(tmp_path: Path, variables: dict[str, str]) -> None:
    def read(*options: str) -> Any:
        return json.loads(listed(tmp_path, variables, "--json", *options).output)

    heron = read()[1]
    assert heron.pop("createTime") == heron.pop("updateTime")
    assert heron == {
        "id": 2,
        "userName": "heron",
        "kind": "person",
        "status": "enabled",
        "roles": [],
        "disabledRoles": ["auditor"],
        "mayDoEverything": False,
    }
    assert [user["userName"] for user in read("--role", "super")] == ["admin", "otter"]
    assert read("--role", "user") == []


def test_an_unknown_role_is_refused_in_words(tmp_path: Path, variables: dict[str, str]) -> None:
    done = listed(tmp_path, variables, "--role", "nosuch")

    assert (done.status, done.errors) == (1, "portcullis: role: there is no role nosuch\n")
