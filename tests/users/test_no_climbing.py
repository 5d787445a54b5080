"""Whatever is called, and in whatever order: nobody ends with more than they began with."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest

from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from tests.features.account_links.conftest import MAILING
from tests.support.cases import with_each
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.members import Member, member
from tests.support.rules_oracle import covers
from tests.support.running import ROOT
from tests.support.without import is_served
from tests.users.writes import (
    LEVELS,
    PROVIDER,
    WALKED_EXTERNAL,
    WITHOUT_TARGET,
    WRITES,
    Request,
    World,
    Write,
)

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
NEAR = ("low", "middle")
"""Levels of the usual run: a clerk may change what has the lower one, and not what has the other."""
ALL_ABOUT_ROLES = """
INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'All about roles', 'system:role:*')
"""

REFUSED = dict.fromkeys(
    (
        *("POST /api/role/import", "POST /api/user/import", "POST /api/user/bulk/status"),
        *("POST /api/user/bulk/role", "POST /api/user/bulk/end-sessions"),
        *("POST /api/role/bulk/enabled", "POST /api/resource/bulk/enabled"),
    ),
    (403, 422),
)  # where rows, or records, are refused one by one
ALLOWED = dict.fromkeys(
    ("DELETE /api/online/{login_id}", "DELETE /api/online/{login_id}/{device}"), (404,)
)  # the targets are not logged in, which only those are told who may kick them


@dataclass(frozen=True)
class Attempt:
    """A caller who tries a write against a target of a level."""

    level: str
    caller: str
    allowed: bool
    request: Request


@dataclass(frozen=True)
class Stage:
    """A service, its callers, and what they are to try."""

    service: Inside
    world: World
    callers: dict[str, Member]
    attempts: dict[Write, list[Attempt]]


@pytest.fixture(scope="module", params=["nearest", pytest.param("all", marks=pytest.mark.extended)])
async def stage(
    stores: EmbeddedStores, published_template: str, request: pytest.FixtureRequest
) -> AsyncIterator[Stage]:
    """Of each level all callers, or the strongest one who is refused and the weakest one who is allowed."""
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **MAILING | PROVIDER) as service:
            with psycopg.connect(url, autocommit=True) as connection:
                world = World(connection)
                with connection.transaction():
                    connection.execute(ALL_ABOUT_ROLES)
                    attempts = {
                        write: [
                            attempt
                            for level in (LEVELS if request.param == "all" else NEAR)
                            for attempt in aimed(world, write, level, everybody=request.param == "all")
                        ]
                        for write in WRITES
                    }
                await service.data("POST", "/api/policy/reload")  # written past the service
                callers = {name: await member(service, name, *codes) for name, codes in POWERS.items()}
                yield Stage(service, world, callers, attempts)


def aimed(world: World, write: Write, level: str, *, everybody: bool) -> list[Attempt]:
    """Return what is tried at a level, with a target for each caller who may."""
    may = {
        name: covers(codes, REQUIRED[write.endpoint]) and covers(codes, f"{LEVELS[level]}t")
        for name, codes in POWERS.items()
    }
    refused = [name for name, allowed in may.items() if not allowed]
    allowed = [name for name in POWERS if may[name]]
    assert list(POWERS) == refused + allowed  # each caller may what a weaker one may
    if not everybody:
        refused, allowed = refused[-1:], allowed[:1]
    targets = [write.aim(world, level) for _ in allowed]
    # Those who are refused leave the first target for those who are not.
    tries = [(name, targets[0]) for name in refused] + list(zip(allowed, targets, strict=True))
    return [Attempt(level, name, may[name], request) for name, request in tries]


def test_every_write_of_the_route_table_is_walked_or_said_to_act_on_nobody_else() -> None:
    """A start fails when these lines are not exactly the routes, so a new route is in neither list."""
    shipped = {line for line in read_shipped().routes if not line.startswith("GET ")}
    walked = {write.endpoint for write in WRITES}

    assert shipped == walked | set(WITHOUT_TARGET) | set(WALKED_EXTERNAL)
    assert walked & (set(WITHOUT_TARGET) | set(WALKED_EXTERNAL)) == set()
    assert all((ROOT / place).exists() for place in WALKED_EXTERNAL.values())


@with_each("write", [write for write in WRITES if is_served(write.endpoint)])
async def test_a_write_needs_its_own_code_and_those_of_what_it_touches(stage: Stage, write: Write) -> None:
    before = stage.world.stored()
    for attempt in stage.attempts[write]:
        if not attempt.allowed:
            answer = await stage.callers[attempt.caller].ask(*attempt.request)
            assert answer.status in REFUSED.get(write.endpoint, (403,)), (attempt, answer.body)
    assert stage.world.stored() == before

    for attempt in stage.attempts[write]:
        if attempt.allowed:
            answer = await stage.callers[attempt.caller].ask(*attempt.request)
            assert answer.status in ALLOWED.get(write.endpoint, (200, 201, 204)), (attempt, answer.body)
