"""Device sessions, shown and ended."""

import pytest
from structlog.testing import capture_logs

from service.authn.revocations import Revocations
from service.authn.sessions import Sessions
from service.errors import RefreshRequired
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.records import role_rights
from service.settings import Redis
from tests.authn.conftest import Container
from tests.authn.people import log_in

MAP = PermissionMap({"*": 0})


@pytest.fixture
def sessions(parts: Container) -> Sessions:
    return Sessions(parts.store)


async def caller_on(parts: Container, device: str) -> Caller:
    return (await parts.authenticator.authenticate((await log_in(parts, device)).access_token, MAP)).caller


async def devices(parts: Container) -> list[str]:
    return sorted(await parts.store.sessions("1"))


async def test_users_see_their_sessions_newest_first_and_which_is_this_one(
    parts: Container, sessions: Sessions
) -> None:
    caller = await caller_on(parts, "web")
    await log_in(parts, "ios")
    own = await sessions.own(caller)

    assert [(session.device, session.current) for session in own] == [("ios", False), ("web", True)]
    assert (own[0].browser, own[0].os, own[0].login_ip) == ("Firefox 115", "Linux", "10.0.0.1")
    assert own[0].login_time.utcoffset() is not None


async def test_logout_with_the_token_of_a_replaced_session_leaves_the_new_one(
    parts: Container, sessions: Sessions
) -> None:
    caller = await caller_on(parts, "web")
    await log_in(parts, "web")
    await sessions.log_out(caller)

    assert await devices(parts) == ["web"]


async def test_users_of_a_role_are_marked_behind_the_request(parts: Container) -> None:
    pair = await log_in(parts, "web")
    revocations = Revocations(parts.database, parts.store)
    async with parts.database.transaction() as connection:
        selected = await connection.exec_driver_sql("SELECT id FROM sys.role WHERE role_code = 'super'")
        affected = await role_rights.in_role(connection, selected.scalar_one())
    revocations.mark_soon(affected)
    await revocations.finish()

    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)


async def test_a_user_is_marked_before_the_answer(parts: Container) -> None:
    pair = await log_in(parts, "web")
    await Revocations(parts.database, parts.store).mark(1)

    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)


async def test_a_marking_goes_on_until_the_store_is_back(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authn.revocations.RETRY", 0.01)
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as away:
        revocations = Revocations(parts.database, away)
        pair = await log_in(parts, "web")
        await revocations.mark(1)
        monkeypatch.setattr(away, "_scripts", parts.store._scripts)  # the store is back
        await revocations.finish()

    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)


async def test_what_could_not_be_marked_before_the_end_is_said(parts: Container) -> None:
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as away:
        revocations = Revocations(parts.database, away)
        revocations.mark_soon([1])
        with capture_logs() as logs:
            await revocations.finish(0.05)

    assert [log["markings"] for log in logs] == [1]
    assert revocations._tasks == set()


async def test_the_users_of_a_large_role_are_marked_before_the_answer(parts: Container) -> None:
    pair = await log_in(parts, "web")

    await Revocations(parts.database, parts.store).mark_all(
        [*range(10**6, 10**6 + 6000), 1]
    )  # user 1 is the last of them

    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)


async def test_users_who_can_not_be_marked_before_the_answer_are_marked_after_it(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authn.revocations.AT_ONCE", 2)
    pair = await log_in(parts, "web")
    revocations = Revocations(parts.database, parts.store)

    await revocations.mark_all([10**6, 10**6 + 1, 1])
    await revocations.finish()

    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)
