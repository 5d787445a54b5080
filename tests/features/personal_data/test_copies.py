"""A person's copy of the own data: complete for its tables, without secrets, and for a fresh login alone."""

import json

from service.features.personal_data.inventory import inventory
from tests.support.inside import Inside
from tests.support.members import member, query, until_row

COPY = "/api/user/profile/data"


async def test_a_person_gets_the_own_rows_without_secrets_and_without_those_of_others(house: Inside) -> None:
    ann = await member(house, "ann", "system:role:list")
    await member(house, "bob", "system:role:list")
    await query(house, "UPDATE sys.\"user\" SET phone = '+49 30 555' WHERE user_name = 'ann' RETURNING id")
    await until_row(house, "SELECT DISTINCT user_name FROM sys.login_log WHERE user_name = 'ann'", ("ann",))

    answer = await ann.ask("GET", COPY)

    assert answer.status == 200
    copy = json.loads(answer.body)
    tables = copy["tables"]
    assert copy["userId"] == ann.user_id
    assert [row["user_name"] for row in tables["user"]] == ["ann"]
    assert tables["user"][0]["phone"] == "+49 30 555"
    assert {row["user_name"] for row in tables["login_log"]} == {"ann"}
    assert tables["user_role"][0]["user_id"] == ann.user_id
    secrets = {(kept.table, name) for kept in inventory() for name in kept.secrets.split()}
    shown = {(name, column) for name, rows in tables.items() for row in rows for column in row}
    assert not shown & secrets
    assert b"bob" not in answer.body
    assert b"$argon2" not in answer.body
    assert copy["cut"] == []


async def test_the_copy_is_logged_without_its_content(house: Inside) -> None:
    ann = await member(house, "cyd", "system:role:list")
    await ann.ask("GET", COPY)
    sql = f"SELECT kind, params, response FROM sys.operation_log WHERE url = '{COPY}' AND user_name = 'cyd'"
    await until_row(house, sql, ("EXPORT", None, None))
