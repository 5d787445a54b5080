"""``portcullis admin create``, for the operator."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.service.callers import PASSWORD
from tests.service.conftest import External, variables_for
from tests.support.running import portcullis


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "must have 1 to 64 characters"),
        ("x" * 65, "must have 1 to 64 characters"),
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

    assert (done.status, done.errors) == (1, "portcullis: This would break what must stay true: apart\n")


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
