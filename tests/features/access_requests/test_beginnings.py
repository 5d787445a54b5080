"""A request with a later beginning waits for it, and all is decided anew then."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest

from service.features.access_requests import store as access_requests
from service.features.access_requests.expiry import settle_requests
from service.features.notices.notices import Notices
from service.records.database.transactions import Database
from service.settings import Settings, load
from tests.features.access_requests.test_requests import (
    ASKED,
    ONE,
    after,
    ask,
    asked,
    decide,
    execute,
    ruled,
    state,
)
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.support.standing_behind import acted

SECRET = "hinges-2-portals-7-winches-4-chains-9"


def settings_of(house: Inside, **variables: str) -> Settings:
    stores = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": SECRET}
    return load({"PORTCULLIS_CONFIG": "", **stores, **variables})


@pytest.fixture
async def database(house: Inside) -> AsyncIterator[Database]:
    # The scheduler of the service would do the same in between.
    await house.data("PUT", "/api/jobs/access-requests/paused", {"paused": True})
    async with Database(house.database_url, pool_size=3) as opened:
        yield opened


async def settled(house: Inside, database: Database, **variables: str) -> str:
    """Run the job, and return what it says; it has nothing to do after that."""
    detail = await settle_requests(database, settings_of(house, **variables), Notices())
    async with database.snapshot() as connection:
        assert not await access_requests.is_due(connection)
    return detail


async def people(house: Inside, **changes: Any) -> tuple[Member, Member]:
    """Return who asks for a role with a rule, and who approves."""
    await ruled(house, "system:file:list", **{"grantNeeded": False} | changes)
    return await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")


async def begin(house: Inside) -> None:
    """Let the beginning of all requests have come, a minute ago."""
    await execute(house, "UPDATE sys.access_request SET valid_from = now() - interval '1 minute'")


async def shown(house: Inside, request: Any) -> Any:
    return await house.data("GET", f"{ASKED}/{request['id']}")


async def approved(house: Inside) -> tuple[Member, Member, Any]:
    """Return a request with a later beginning, all of whose stages have passed, with its people."""
    heron, kestrel = await people(house)
    request = await asked(heron, **{"from": after(3600)})
    assert (await decide(kestrel, request)).status == 200
    return heron, kestrel, request


async def test_what_is_approved_waits_for_its_beginning_and_ends_when_it_was_asked_to(
    house: Inside, database: Database
) -> None:
    heron, kestrel, request = await approved(house)
    waiting = await shown(house, request)
    assert (waiting["state"], waiting["stages"][0]["counted"], waiting["from"], waiting["until"]) == (
        "pending",
        1,
        request["from"],
        None,
    )
    assert await settled(house, database) == "nothing is due"
    assert "system:file:list" not in await heron.held()

    await begin(house)
    assert await settled(house, database) == "1 of 1 roles assigned, 0 requests expired, 1 authors notified"

    given = await shown(house, request)
    assert (given["state"], given["endedBy"]) == ("approved", None)
    assert "system:file:list" in await heron.held()
    path = f"/api/user/{heron.user_id}/roles/{given['assignmentId']}"
    stored = await house.data("GET", path)
    # It was asked for ten minutes from its beginning, a minute ago.
    lasts = datetime.fromisoformat(given["until"]) - datetime.fromisoformat(given["from"])
    assert 530 < lasts.total_seconds() <= 540
    assert (stored["until"], stored["source"]) == (given["until"], "request")
    assert (await decide(kestrel, request, "deny")).json["data"]["state"] == "approved"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "DELETE FROM sys.user_role WHERE user_id = {kestrel}",
            "Too few of its approvals are still valid at the start",
        ),
        (
            "UPDATE sys.user SET status = 'disabled' WHERE id = {kestrel}",
            "Too few of its approvals are still valid",
        ),
        (
            "INSERT INTO sys.account_control VALUES ({heron}, {kestrel}, 'password')",
            "Too few of its approvals are still valid",
        ),
        ("UPDATE sys.access_request SET duration = 30", "Its end has passed"),
        (
            "UPDATE sys.role SET max_duration = 1 WHERE role_code = 'heron'",
            "until: must be at most 1 seconds",
        ),
    ],
)
async def test_all_is_decided_anew_at_the_beginning(
    house: Inside, database: Database, change: str, reason: str
) -> None:
    heron, kestrel, request = await approved(house)
    await execute(house, change.format(kestrel=kestrel.user_id, heron=heron.user_id))
    assert await state(house, request) == "pending"

    await begin(house)
    assert await settled(house, database) == "0 of 1 roles assigned, 0 requests expired, 1 authors notified"

    ended = await shown(house, request)
    assert (ended["state"], ended["assignmentId"]) == ("failed", None)
    assert ended["endReason"].startswith(reason)
    assert "system:file:list" not in await heron.held()


async def test_an_author_who_may_no_longer_ask_gets_nothing_at_the_beginning(
    house: Inside, database: Database
) -> None:
    await ruled(house, requestableBy="system:role:list")
    heron = await member(house, "heron-1", "system:role:list")
    kestrel = await member(house, "kestrel", "system:user:list")
    request = await asked(heron, **{"from": after(3600)})
    await decide(kestrel, request)
    await execute(house, "DELETE FROM sys.user_role WHERE user_id = %s", heron.user_id)

    await begin(house)
    await settled(house, database)

    ended = await shown(house, request)
    assert (ended["state"], ended["endReason"]) == (
        "failed",
        "The author is no longer allowed to request the role",
    )
    heard = (await heron.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    (facts,) = [each["facts"] for each in heard if each["kind"] == "access_request_ended"]
    assert (facts["reason"], facts["reasonCode"]) == (ended["endReason"], "author_not_allowed")


async def test_what_nobody_has_approved_expires_when_it_was_to_begin(
    house: Inside, database: Database
) -> None:
    heron, kestrel = await people(house, stages=[ONE | {"approvals": 2}])
    request = await asked(heron, **{"from": after(300)})
    await decide(kestrel, request)
    assert request["deadline"] == request["from"]
    await execute(
        house,
        "UPDATE sys.access_request SET valid_from = now() - interval '1 second',"
        " deadline = now() - interval '1 second'",
    )

    assert await state(house, request) == "expired"
    assert await settled(house, database) == "0 of 0 roles assigned, 1 requests expired, 1 authors notified"


async def test_a_dry_run_of_an_approval_counts_it_and_saves_nothing(house: Inside) -> None:
    heron, kestrel = await people(house)
    request = await asked(heron, **{"from": after(3600)})
    body = {"decision": "approve", "reason": "As agreed"}

    tried = await kestrel.ask("POST", f"{ASKED}/{request['id']}/decision?dryRun=true", body)

    made = tried.json["data"]
    assert (made["stages"][0]["counted"], made["decisions"][0]["userName"]) == (1, "kestrel")
    assert (await shown(house, request))["decisions"] == []


async def test_one_denial_ends_what_waits_for_its_beginning(house: Inside) -> None:
    _heron, _kestrel, request = await approved(house)
    crane = await member(house, "crane", "system:user:list")

    assert (await decide(crane, request, "deny")).json["data"]["state"] == "denied"


async def test_an_approval_may_not_end_before_the_beginning(house: Inside) -> None:
    heron, kestrel = await people(house)
    request = await asked(heron, **{"from": after(3600)})

    answers = [await decide(kestrel, request, until=after(seconds)) for seconds in (3500, 4300)]

    assert [(answer.status, answer.fields) for answer in answers] == [(422, ["until"])] * 2


async def test_a_beginning_is_within_a_year(house: Inside) -> None:
    heron, _ = await people(house)

    answers = [
        await ask(heron, **{"from": begins}) for begins in (after(400 * 86_400), "9999-12-31T23:59:59Z")
    ]

    assert [(answer.status, answer.fields) for answer in answers] == [(422, ["from"])] * 2


async def test_a_beginning_in_the_past_is_now(house: Inside) -> None:
    heron, _ = await people(house)

    request = await asked(heron, **{"from": after(-60)})

    assert request["from"] is None


async def test_authors_hear_how_their_requests_have_ended_and_approvers_that_they_may_decide(
    house: Inside, database: Database
) -> None:
    heron, kestrel = await people(house)
    request = await asked(heron)
    assert (await decide(kestrel, request, "deny", reason="Not today")).status == 200
    withdrawn = await asked(heron)
    await heron.ask("DELETE", f"{ASKED}/{withdrawn['id']}")

    await settled(house, database)
    await settled(house, database)

    kinds = "SELECT kind, facts FROM sys.notice WHERE user_id = %s AND kind LIKE 'access%%' ORDER BY id"
    ((kind, facts),) = await query(house, kinds, heron.user_id)
    heard = await query(house, kinds, kestrel.user_id)
    assert (kind, facts) == (
        "access_request_ended",
        {"role": "heron", "request": str(request["id"]), "state": "denied", "reason": "Not today"},
    )
    assert [(name, seen["account"], seen["request"]) for name, seen in heard] == [
        ("access_request_made", "heron-1", str(request["id"])),
        ("access_request_made", "heron-1", str(withdrawn["id"])),
    ]


async def test_who_is_behind_the_author_or_could_not_approve_is_not_asked_to(house: Inside) -> None:
    await ruled(house, "system:file:list")
    heron = await member(house, "heron-1", "*")
    friend = await member(house, "friend", "system:user:list", "system:file:list")
    await member(house, "clerk", "system:user:list")
    await member(house, "kestrel", "system:user:list", "system:file:list")
    await acted(house, heron.user_id, friend.user_id, "made")

    request = await asked(heron)

    names = (
        "SELECT user_name FROM sys.notice n JOIN sys.user u ON u.id = n.user_id"
        " WHERE n.kind = 'access_request_made' AND facts ->> 'request' = %s ORDER BY 1"
    )
    assert [name for (name,) in await query(house, names, str(request["id"]))] == ["admin", "kestrel"]


@pytest.mark.parametrize("later", [False, True])
async def test_whom_an_approver_gives_a_code_by_an_approval_does_not_approve_in_that_ones_place(
    house: Inside, database: Database, later: bool
) -> None:
    stages = [ONE | {"approvals": 2}]
    await ruled(house, "system:user:list", grantNeeded=False, stages=stages)
    heron = await member(house, "heron-1")
    kestrel, crane = [await member(house, name, "system:user:list") for name in ("kestrel", "crane")]
    own = [await asked(kestrel), await asked(crane)]
    given = await asked(heron, **({"from": after(3600)} if later else {}))

    for approver in (kestrel, crane):
        assert (await decide(approver, given)).status == 200
    if later:
        begins = "UPDATE sys.access_request SET valid_from = now() - interval '1 minute' WHERE id = %s"
        await execute(house, begins, given["id"])
        await settled(house, database)

    assert "system:user:list" in await heron.held()
    refused = [await decide(heron, request) for request in own]
    assert [(each.status, each.json.get("layer")) for each in refused] == [(403, "approve")] * 2
