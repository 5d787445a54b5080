"""Whatever is called, and in whatever order: nobody ends with more than they began with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from tests.support.databases import database
from tests.support.inside import Inside, inside
from tests.support.members import Member, member
from tests.support.oracle import covers
from tests.support.running import ROOT
from tests.support.store_numbers import session_store
from tests.users.people import execute
from tests.users.writes import LEVELS, WALKED_ELSEWHERE, WITHOUT_TARGET, WRITES, World, Write

pytestmark = pytest.mark.anyio

# Of alternatives the first one, which gives the right everywhere.
REQUIRED = {rule.object: rule.code for rule in reversed(read_shipped().endpoints)}
EVERY_WRITE = sorted({REQUIRED[write.endpoint] for write in WRITES})
POWERS: dict[str, tuple[str, ...]] = {
    "nobody": (),
    "clerk": (*EVERY_WRITE, "system:role:*"),
    "keeper": ("system:*",),
    "chief": ("*",),
}
"""Callers by what they hold, the weakest first."""

Callers = tuple[Inside, dict[str, Member]]

REFUSED = dict.fromkeys(
    ("POST /api/role/import", "POST /api/user/import"), (403, 422)
)  # where rows are refused one by one
ALLOWED = dict.fromkeys(
    ("DELETE /api/online/{login_id}", "DELETE /api/online/{login_id}/{device}"), (404,)
)  # the targets are not logged in, which only those are told who may kick them


@pytest.fixture(scope="module")
async def callers(stores: EmbeddedStores, seeded_template: str) -> AsyncIterator[Callers]:
    """A service, and four callers of different powers."""
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        async with inside(url, redis_url, PORTCULLIS_THROTTLE__ENABLED="false") as service:
            execute(
                service,
                "INSERT INTO sys.menu (menu_type, title, auth_mark)"
                " VALUES ('Button', 'All about roles', 'system:role:*')",
            )
            await service.data("POST", "/api/policy/reload")
            yield service, {name: await member(service, name, *codes) for name, codes in POWERS.items()}


def test_every_write_of_the_route_table_is_walked_or_said_to_act_on_nobody_else() -> None:
    """A start fails when these lines are not exactly the routes, so a new route is in neither list."""
    shipped = {line for line in read_shipped().routes if not line.startswith("GET ")}
    walked = {write.endpoint for write in WRITES}

    assert shipped == walked | set(WITHOUT_TARGET) | set(WALKED_ELSEWHERE)
    assert walked & (set(WITHOUT_TARGET) | set(WALKED_ELSEWHERE)) == set()
    assert all((ROOT / place).exists() for place in WALKED_ELSEWHERE.values())


@pytest.mark.parametrize("write", WRITES, ids=str)
async def test_a_write_needs_its_own_code_and_those_of_what_it_touches(
    callers: Callers, write: Write
) -> None:
    service, members = callers
    may = {
        (level, name): covers(codes, REQUIRED[write.endpoint]) and covers(codes, f"{prefix}t")
        for level, prefix in LEVELS.items()
        for name, codes in POWERS.items()
    }
    assert sum(may.values()) == 6  # the chief three, the keeper two, the clerk one
    with psycopg.connect(service.database_url, autocommit=True) as connection:
        world = World(connection)
        # One for each caller who may: those who may not leave theirs for the next.
        targets = {one: write.aim(world, one[0]) for one, allowed in may.items() if allowed}
        await service.data("POST", "/api/policy/reload")  # written past the service
        before = world.stored()
        for level in LEVELS:
            aimed = [target for one, target in targets.items() if one[0] == level]
            for name, caller in members.items():
                answer = await caller.ask(*aimed[0])

                if may[level, name]:
                    expected = ALLOWED.get(write.endpoint, (200, 201))
                    aimed.pop(0)
                    before = world.stored()
                else:
                    expected = REFUSED.get(write.endpoint, (403,))
                    assert world.stored() == before, (level, name)  # so the next caller finds it as aimed
                assert answer.status in expected, (level, name, answer.body)
