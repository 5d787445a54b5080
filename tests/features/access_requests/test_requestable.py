"""Roles that a refusal names: those that would open it, and that the person may ask for."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import psycopg
import pytest

from service.authz.engine.refused import MOST_ROLES
from service.authz.engine.rules import Rule
from service.authz.publishing.revisions import PublishedRevisions
from service.features.access_requests.requestable import RequestableRoles
from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import Database
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from tests.support.databases import database
from tests.web.driver import Answer, ask
from tests.web.example_service import example
from tests.web.test_guard import CALLERS, ENDPOINTS, OPENINGS, Table, caller, live_policy

ROLES = {
    "reader": ("thing:list", True),
    "maker": ("thing:*", True),
    "stranger": ("order:list", True),
    "closed": ("thing:list", True),
    "disabled": ("thing:list", False),
    "detailed": ("thing:detail", True),
}
WRITE = """
WITH made AS (
    INSERT INTO sys.role (role_name, role_name_key, role_code, enabled)
    VALUES (%(role)s, %(role)s, %(role)s, %(enabled)s) RETURNING id
), button AS (
    INSERT INTO sys.menu (menu_type, title, auth_mark) SELECT 'Button', %(code)s, %(code)s
    WHERE NOT EXISTS (SELECT FROM sys.menu WHERE auth_mark = %(code)s) RETURNING id
)
INSERT INTO sys.role_menu (role_id, menu_id)
SELECT made.id, menu.id FROM made, (
    SELECT id FROM button UNION SELECT id FROM sys.menu WHERE auth_mark = %(code)s
) menu
"""
MAY_ASK = [
    *(Rule("request", f"role {role}", "@login") for role in ROLES if role != "closed"),
    Rule("request", "role closed", "office:member"),
]


@pytest.fixture(scope="module")
async def stored(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Database]:
    with database(stores, published_template) as url:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            for role, (code, enabled) in ROLES.items():
                await connection.execute(WRITE, {"role": role, "code": code, "enabled": enabled})
        async with Database(url) as opened:
            yield opened


class Unasked(RequestableRoles):
    """Fails where the database is asked."""

    def __init__(self) -> None:
        pass

    @property
    def database(self) -> Database:
        raise AssertionError("the database was asked")


async def refused(
    requestable: RequestableRoles,
    *lines: Rule,
    rules: Iterable[Rule] = (*OPENINGS, *ENDPOINTS),
    by: str = "nobody",
    path: str = "/api/thing",
) -> Answer:
    live = live_policy([*rules, *lines])
    revisions = PublishedRevisions(live, lambda: pytest.fail("no newer revision is asked for"))
    guard = AuthorizationGuard(HeaderToken("Authorization", "Bearer "), Table(), live, revisions)
    app = example(guard, requestable=requestable.opening)[0]
    answer = await ask(app, "GET", path, ("Authorization", f"Bearer {by}"))
    assert (answer.status, answer.code) == (403, "permission_denied")
    return answer


async def test_enabled_roles_that_would_open_it_and_may_be_asked_for_are_named(stored: Database) -> None:
    answer = await refused(RequestableRoles(stored), *MAY_ASK)
    assert answer.json["requestable"] == ["maker", "reader"]


async def test_a_line_with_a_code_opens_to_its_holders(
    stored: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CALLERS, "nobody", caller(2, "office:*"))
    answer = await refused(RequestableRoles(stored), *MAY_ASK)
    assert answer.json["requestable"] == ["closed", "maker", "reader"]


async def test_a_role_has_to_open_both_layers_with_what_is_held(stored: Database) -> None:
    bound = Rule("resource", "GET /api/thing/{id}", "thing:detail")
    path = "/api/thing/7"
    held = await refused(RequestableRoles(stored), bound, *MAY_ASK, by="lister", path=path)
    assert held.json["requestable"] == ["detailed", "maker"]

    nothing = await refused(RequestableRoles(stored), bound, *MAY_ASK, path=path)
    assert nothing.json["requestable"] == ["maker"]


async def test_nothing_is_named_where_no_role_would_do(stored: Database) -> None:
    answer = await refused(RequestableRoles(stored), *MAY_ASK[2:3])
    assert "requestable" not in answer.json


async def test_an_api_key_is_told_of_no_role(stored: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (replace(caller(2), kind="service", key_id=1), replace(caller(2), key_id=1)):
        monkeypatch.setitem(CALLERS, "nobody", key)
        assert "requestable" not in (await refused(RequestableRoles(stored), *MAY_ASK)).json


async def test_without_a_role_to_ask_for_the_database_is_not_asked() -> None:
    closed = [Rule("request", "role reader", "office:member")]
    for lines in ([], closed):
        assert "requestable" not in (await refused(Unasked(), *lines)).json


async def test_while_the_database_is_down_the_refusal_is_the_same() -> None:
    async with Database("postgresql://127.0.0.1:1/none", timeout=1.0) as down:
        assert "requestable" not in (await refused(RequestableRoles(down), *MAY_ASK)).json


async def test_at_most_twenty_roles_are_named(stored: Database) -> None:
    more = [f"reader-{number:02}" for number in range(MOST_ROLES + 5)]
    async with stored.transaction() as connection:
        raw = await connection.get_raw_connection()
        assert raw.driver_connection is not None
        for role in more:
            await raw.driver_connection.execute(WRITE, {"role": role, "code": "thing:list", "enabled": True})
    answer = await refused(
        RequestableRoles(stored), *(Rule("request", f"role {role}", "@login") for role in more)
    )
    assert answer.json["requestable"] == more[:MOST_ROLES]
