"""Databases that one test after the other uses."""

from __future__ import annotations

import psycopg
import pytest

from service.embedded import EmbeddedStores
from tests.support.databases import database

READ = (
    "SELECT * FROM sys.role ORDER BY id",
    "SELECT * FROM sys.user_role ORDER BY 1, 2",
    "SELECT last_value, is_called FROM sys.role_id_seq",
)


def rows(url: str) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(url) as connection:
        return [connection.execute(query.encode()).fetchall() for query in READ]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sys.role SET description = 'changed' WHERE id = 1",
        "DELETE FROM sys.user_role",
        "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('new', 'new', 'new')",
        "SELECT nextval('sys.role_id_seq')",
        "TRUNCATE sys.user_role",
        "ALTER TABLE sys.role DROP COLUMN description",
    ],
)
def test_rows_that_a_test_has_changed_are_back_for_the_next(
    stores: EmbeddedStores, seeded_template: str, change: str
) -> None:
    for _ in range(2):  # from then on it is known how much is written to it
        with database(stores, seeded_template):
            pass
    with database(stores, seeded_template) as url:
        before = rows(url)
        with psycopg.connect(url) as connection:
            connection.execute(change.encode())
        assert rows(url) != before

    for _ in range(2):  # the second finds what the first has put back, and leaves it
        with database(stores, seeded_template) as url:
            assert rows(url) == before
