"""``portcullis admin``: administrators are created and listed by the operator."""

import json
import secrets
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.service.callers import PASSWORD
from tests.service.conftest import External, variables_for
from tests.support.cases import with_each
from tests.support.running import Ended, portcullis


@with_each(
    ("name", "reason"),
    [
        ("", "must have 1 to 254 characters"),
        ("x" * 255, "must have 1 to 254 characters"),
        ("a\nb", "must not hold U+000A, which can't be seen"),
        ("\u202eadmin", "must not hold U+202E, which can't be seen"),
        ("\udcff\udcfe", "must not hold U+DCFF, which can't be seen"),
        (" sp", "must not begin or end with a space"),
    ],
)
def test_a_name_that_will_not_do_is_refused_in_words(external: External, name: str, reason: str) -> None:
    done = portcullis(external.folder, "admin", "create", name, given=f"{PASSWORD}\n", **external.variables)

    assert (done.status, done.errors) == (1, f"portcullis: The user name {reason}\n")


def test_a_taken_name_an_unknown_role_and_a_weak_password_are_refused_in_words(external: External) -> None:
    def create(*arguments: str, password: str = PASSWORD) -> str:
        given = f"{password}\n"
        done = portcullis(external.folder, "admin", "create", *arguments, given=given, **external.variables)
        assert done.status == 1
        return done.errors

    assert create("ADMIN") == "portcullis: The user name is taken\n"
    assert create("otter", "--role", "nosuch") == "portcullis: role: there is no role nosuch\n"
    assert create("otter", password="password1") == ("portcullis: The password is too easy to guess\n")


def test_roles_that_would_break_an_invariant_are_not_given(external: External, tmp_path: Path) -> None:
    stated = tmp_path / "stated.yaml"
    stated.write_text(
        "statements: [{name: apart, reason: x, no_user_holds: ['system:user:list', 'system:role:list']}]\n"
    )
    variables = {**external.variables, "PORTCULLIS_POLICY__INVARIANTS": str(stated)}

    given = f"{PASSWORD}\n"
    done = portcullis(
        external.folder, "admin", "create", "otter", "--role", "auditor", given=given, **variables
    )

    assert (done.status, done.errors) == (
        1,
        "portcullis: This would violate an invariant of the policy: apart\n",
    )


def test_a_database_that_no_start_has_filled_is_left_alone(
    tmp_path: Path, empty_database_url: str, redis_url: str
) -> None:
    variables = variables_for(empty_database_url, redis_url)

    def create() -> str:
        name = f"otter-{secrets.token_hex(4)}"
        done = portcullis(tmp_path, "admin", "create", name, given=f"{PASSWORD}\n", **variables)
        assert done.status == 1
        return done.errors

    never_started = create()
    assert portcullis(tmp_path, "db", "migrate", **variables).status == 0

    message = "portcullis: The database has no roles yet: start the service once, then try again\n"
    assert (never_started, create()) == (message, message)


def test_who_is_created_is_in_the_operation_log_with_the_roles_and_without_the_password(
    tmp_path: Path, seeded_database_url: str, redis_url: str
) -> None:
    given, variables = f"{PASSWORD}\n", variables_for(seeded_database_url, redis_url)
    done = portcullis(tmp_path, "admin", "create", "otter", "--role", "super", given=given, **variables)
    assert done.status == 0, done.errors
    with psycopg.connect(seeded_database_url) as connection:
        statement = "SELECT module, action, kind, url, targets, changes FROM sys.operation_log"
        [(*entry, changes)] = connection.execute(statement).fetchall()
    assert entry == ["user", "create", "INSERT", "portcullis admin create", ["user:otter"]]
    assert {change["field"]: change["after"] for change in changes}["roles"] == ["super"]
    assert PASSWORD not in json.dumps(changes)


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
