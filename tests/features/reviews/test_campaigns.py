"""Reviews in any order of acts: what is claimed of every campaign, and that a large one is bearable."""

import asyncio
import random
from time import process_time
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.features.reviews.test_reviews import DECIDES, close, decide, execute, items, start, started
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import Member, member, query

CODE = "system:file:list"
NAMES = ("heron", "kestrel", "raven")
"""All three decide, and have another role each that is reviewed."""


class Campaign:
    """A model of reviews: which items there are, and what has been decided about them."""

    def __init__(self, house: Inside, people: dict[str, Member], roles: dict[str, int]) -> None:
        self.house = house
        self.people = people
        self.roles = roles
        self.open: dict[int, dict[str, Any]] = {}

    async def begin(self, rule: str, apply: str, asked: str | None) -> None:
        reviewers = {} if asked is None else {"userIds": [self.people[asked].user_id]}
        answer = await start(
            self.house,
            scope={"roleIds": [*self.roles.values()]},
            reviewers=reviewers,
            onSilence=rule,
            apply=apply,
        )
        if answer.status == 201:
            review = answer.json["data"]
            listed = {item["userName"]: item for item in await items(self.house, review)}
            self.open[review["id"]] = {"review": review, "items": listed, "asked": asked, "decided": {}}
        else:
            assert [error["field"] for error in answer.json["errors"]] == ["scope"]
            assert not await self.holders()

    async def holders(self) -> set[str]:
        """Return who has a reviewed role, by what is stored."""
        ids = [*self.roles.values()]
        holders = 'SELECT user_name FROM sys.user_role JOIN sys."user" u ON u.id = user_id'
        rows = await query(self.house, f"{holders} WHERE role_id = ANY(%s)", ids)
        return {name for (name,) in rows}

    async def decide(self, place: int, reviewer: str, about: str, verdict: str) -> None:
        if not self.open:
            return
        known = [*self.open.values()][place % len(self.open)]
        item = known["items"].get(about)
        if item is None:
            return
        person = await self.people[reviewer].log_in()
        answer = await decide(person, known["review"], item, verdict)
        may = reviewer != about and known["asked"] in (None, reviewer)
        if not may:
            assert (answer.status, answer.json["layer"]) == (403, "review"), answer.body
            return
        at_once = known["review"]["apply"] == "at_once"
        if at_once and about in known["decided"]:
            assert answer.status == 409, answer.body
            return
        assert answer.status == 200, answer.body
        known["decided"][about] = verdict
        if at_once and verdict == "revoke":
            # Gone with the answer: the token that the person still has opens nothing any more.
            assert about not in await self.holders()
            assert CODE not in await self.people[about].held()

    async def close(self, place: int) -> None:
        if not self.open:
            return
        number = [*self.open][place % len(self.open)]
        known = self.open.pop(number)
        before = await self.holders()
        answer = await close(self.house, known["review"])
        assert answer.json["data"]["state"] == "closed", answer.body
        for item in await items(self.house, known["review"]):
            name = item["userName"]
            verdict = known["decided"].get(name)
            if verdict is None:
                alone = known["asked"] == name
                assert item["decision"] == ("keep" if alone else known["review"]["onSilence"])
                assert (item["reviewerName"], item["finding"]) == (None, "no_reviewer" if alone else None)
            else:
                assert (item["decision"], item["reviewerName"] is None) == (verdict, False)
            assert item["outcome"] is not None
            if item["decision"] == "revoke":
                assert name not in await self.holders()
            elif name in before:
                assert name in await self.holders()


ACTS = st.one_of(
    st.tuples(
        st.just("begin"),
        st.sampled_from(["revoke", "keep"]),
        st.sampled_from(["at_once", "at_end"]),
        st.sampled_from([None, *NAMES]),
    ),
    st.tuples(
        st.just("decide"),
        st.integers(0, 2),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(["keep", "revoke"]),
    ),
    st.tuples(st.just("close"), st.integers(0, 2)),
)


async def campaign(house: Inside, number: int, acts: list[tuple[Any, ...]]) -> None:
    """Take ``acts`` one after another; close what is open at the end."""
    people = {name: await member(house, f"{name}-{number}", *DECIDES) for name in NAMES}
    named = {f"{name}-{number}": person for name, person in people.items()}
    body = {"roleName": f"team {number}", "roleCode": f"team-{number}", "permissions": [CODE]}
    role = await house.data("POST", "/api/role", body)
    for person in people.values():
        await execute(house, "INSERT INTO sys.user_role VALUES (%s, %s)", person.user_id, role["id"])
    model = Campaign(house, named, {"team": role["id"]})
    for act, *facts in (*acts, *([("close", 0)] * len(acts))):
        await getattr(model, act)(*(f"{each}-{number}" if each in NAMES else each for each in facts))


async def _campaigns(house: Inside, examples: int) -> None:
    numbers = iter(range(10_000))
    loop = asyncio.get_running_loop()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(ACTS, min_size=2, max_size=14))
    def run(acts: list[tuple[Any, ...]]) -> None:
        running = campaign(house, next(numbers), [("begin", "revoke", "at_once", None), *acts])
        asyncio.run_coroutine_threadsafe(running, loop).result(120)

    await asyncio.to_thread(run)


async def test_every_campaign_ends_with_all_decided_and_nobody_decides_what_they_may_not(
    house: Inside,
) -> None:
    await _campaigns(house, 3)


@pytest.mark.extended
async def test_many_campaigns_end_with_all_decided(service_with: ServiceWith) -> None:
    unbounded = {"PORTCULLIS_THROTTLE__LOGIN_ADDRESS": "100000"}
    async with service_with(**unbounded) as house:
        await _campaigns(house, 100)


FILL = """
INSERT INTO sys."user" (user_name, user_name_key, nick_name)
    SELECT 'u' || n, 'u' || n, 'u' || n FROM generate_series(1, %(count)s) n;
INSERT INTO sys.user_role (user_id, role_id, create_time)
    SELECT id, %(role)s, now() - interval '500 days'
    FROM sys."user" WHERE user_name LIKE 'u%%' AND nick_name = user_name;
INSERT INTO sys.permission_use (user_id, month, days)
    SELECT u.id, date_trunc('month', now() - make_interval(months => m)), used.days
    FROM sys."user" u, generate_series(1, 12) m, (
        SELECT jsonb_object_agg('x:y:' || n, n) || '{"system:file:list": 1}' AS days
        FROM generate_series(1, 20) n
    ) used
    WHERE u.id %% 2 = 0
"""
"""Every other user has needed the code, and others, in each of the last twelve months."""


@pytest.mark.extended
async def test_ten_thousand_items_are_paged_and_closed_in_time(service: Inside) -> None:
    await member(service, "kestrel", *DECIDES)
    body = {"roleName": "team", "roleCode": "team", "permissions": [CODE]}
    role = await service.data("POST", "/api/role", body)
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        for statement in FILL.split(";"):
            await connection.execute(statement, {"count": 10_000, "role": role["id"]})
    begun = asyncio.get_running_loop().time()
    review = await started(service, scope={"roleIds": [role["id"]]})
    beginning = asyncio.get_running_loop().time() - begun
    assert len({item["lastUsed"] for item in await items(service, review)}) == 2
    pages = [1, 50, *random.Random(3).sample(range(2, 100), 3)]

    took = []
    for page in pages:
        begun = process_time()
        await service.data("GET", f"/api/review/{review['id']}/item/list?size=100&page={page}")
        took.append(process_time() - begun)
    begun = asyncio.get_running_loop().time()
    closed = (await close(service, review)).json["data"]
    shown = [closed["progress"]["settled"]]
    while closed["state"] != "closed":
        await service.ask("POST", "/api/jobs/review-ends/run")
        await asyncio.sleep(0.2)
        closed = await service.data("GET", f"/api/review/{review['id']}")
        shown.append(closed["progress"]["settled"])

    assert beginning < 15
    assert max(took) < 0.1, took
    assert asyncio.get_running_loop().time() - begun < 30
    assert closed["progress"]["settled"] == 10_000
    assert shown == sorted(shown)
