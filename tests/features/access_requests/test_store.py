"""Requests for roles as they are stored: who sees them, when they expire, and that they end once."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound
from service.features.access_requests import store as access_requests
from service.features.access_requests.schema import AccessDecision, AccessRequest, NewRequest, State
from service.features.access_requests.store import RequestFilter, Visible
from service.kernel.fields import values_of

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HERON, KESTREL, RAVEN = 101, 102, 103
ASKED = NewRequest(
    user_id=HERON,
    user_name="heron",
    role_id=7,
    role_code="auditor",
    emergency=False,
    valid_from=None,
    valid_until=None,
    duration=3600,
    reason="Year's end",
    ticket=None,
    decision_id=None,
    asked_decision_id="r1-00000000-000000000000",
    stage_codes=("a:b", "c:d"),
    stage_approvals=(2, 1),
    grant_needed=True,
    create_time=NOW,
    deadline=NOW + HOUR,
)
APPROVED = AccessDecision(
    user_id=KESTREL,
    user_name="kestrel",
    decision="approve",
    reason="As agreed",
    valid_until=None,
    stages=(1, 2),
    decision_ids=("r1-00000000-000000000001",),
    create_time=NOW,
)


async def shown(connection: AsyncConnection, made: AccessRequest, at: datetime) -> AccessRequest:
    return await access_requests.read(connection, made.id, at)


async def test_a_request_is_read_as_it_was_asked(connection: AsyncConnection) -> None:
    made = await access_requests.create(connection, ASKED)

    assert await shown(connection, made, NOW) == made
    assert values_of(made, NewRequest) == values_of(ASKED)
    assert (made.state, made.complete, made.end_time, made.version) == ("pending", False, None, 1)


async def test_a_request_is_expired_from_its_deadline_on_unless_all_stages_have_passed(
    connection: AsyncConnection,
) -> None:
    made = await access_requests.create(connection, ASKED)
    late = await shown(connection, made, NOW + HOUR)
    before = await shown(connection, made, NOW + HOUR - timedelta(milliseconds=1))
    assert (before.state, late.state, late.end_time) == ("pending", "expired", NOW + HOUR)

    await access_requests.wait(connection, made.id)

    assert (await shown(connection, made, NOW + HOUR)).state == "pending"
    assert await access_requests.expire(connection, NOW + HOUR) == []


async def test_what_has_ended_never_changes_whatever_writes_it(connection: AsyncConnection) -> None:
    made = await access_requests.create(connection, ASKED)
    await access_requests.end(connection, made.id, "denied", NOW, by="kestrel", reason="No")

    for statement in ("state = 'approved', assignment_id = 1", "state = 'pending'", "reason = 'other'"):
        with pytest.raises(DBAPIError, match="has ended"):
            async with connection.begin_nested():
                await connection.execute(text(f"UPDATE sys.access_request SET {statement}"))

    ended = await shown(connection, made, NOW + 2 * HOUR)
    assert (ended.state, ended.end_time, ended.ended_by, ended.end_reason) == ("denied", NOW, "kestrel", "No")


async def test_authors_deciders_and_those_who_may_decide_see_a_request_and_others_do_not(
    connection: AsyncConnection,
) -> None:
    auditor = text("SELECT id FROM sys.role WHERE role_code = 'auditor'")
    role_id = (await connection.execute(auditor)).scalar_one()
    made = await access_requests.create(connection, structs.replace(ASKED, role_id=role_id))
    nobody = Visible(KESTREL, ())
    with pytest.raises(NotFound):
        await access_requests.read(connection, made.id, NOW, nobody)

    for visible in (Visible(HERON, ()), Visible(RAVEN, ("auditor",)), None):
        assert (await access_requests.read(connection, made.id, NOW, visible)).id == made.id
    await access_requests.decide(connection, made.id, APPROVED)
    assert (await access_requests.read(connection, made.id, NOW, nobody)).id == made.id
    assert (await access_requests.decisions(connection, [made.id]))[made.id] == [APPROVED]

    listed = await access_requests.page(connection, RequestFilter(), Visible(RAVEN, ()), NOW)
    assert (listed.items, listed.total) == ((), 0)


async def test_a_list_is_filtered_by_the_state_of_its_instant(connection: AsyncConnection) -> None:
    made = await access_requests.create(connection, ASKED)

    async def ids(at: datetime, *states: State) -> list[int]:
        listed = await access_requests.page(connection, RequestFilter(state=states), None, at)
        return [item.id for item in listed.items]

    assert (await ids(NOW, "pending"), await ids(NOW, "expired")) == ([made.id], [])
    assert (await ids(NOW + HOUR, "pending"), await ids(NOW + HOUR, "expired")) == ([], [made.id])


async def test_pending_requests_of_a_user_and_for_a_role_fail_together_and_expired_ones_do_not(
    connection: AsyncConnection,
) -> None:
    by_user = await access_requests.create(connection, structs.replace(ASKED, role_id=8))
    by_role = await access_requests.create(connection, structs.replace(ASKED, user_id=RAVEN))
    other = await access_requests.create(connection, structs.replace(ASKED, user_id=RAVEN, role_id=9))
    old = await access_requests.create(connection, structs.replace(ASKED, role_id=10, deadline=NOW))

    failed = await access_requests.fail_all(
        connection, NOW, "The rule has changed", by="admin", user_ids=[HERON], role_ids=[7]
    )

    assert sorted(request.id for request in failed) == [by_user.id, by_role.id]
    stored = [await shown(connection, made, NOW) for made in (by_user, by_role, other, old)]
    states = [(made.state, made.version) for made in stored]
    assert states == [("failed", 2), ("failed", 2), ("pending", 1), ("expired", 2)]


async def test_requests_begin_in_the_order_of_their_beginnings(connection: AsyncConnection) -> None:
    late = structs.replace(ASKED, valid_from=NOW + HOUR, role_id=8)
    second = await access_requests.create(connection, late)
    first = await access_requests.create(connection, structs.replace(late, valid_from=NOW, role_id=9))
    unapproved = await access_requests.create(connection, structs.replace(late, valid_from=NOW, role_id=10))
    for made in (second, first, await access_requests.create(connection, ASKED)):
        await access_requests.wait(connection, made.id)

    assert unapproved.state == "pending"
    assert await access_requests.beginning(connection, NOW) == [first.id]
    assert await access_requests.beginning(connection, NOW + HOUR) == [first.id, second.id]
