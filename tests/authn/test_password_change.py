"""Changing and resetting passwords on real stores."""

import asyncio

import pytest

from service.authn.password_change import PasswordChange
from service.authn.password_rules import PasswordRules
from service.authn.revocations import Revocations
from service.authn.throttle import Throttle
from service.errors import (
    Conflict,
    LoginFailed,
    RateLimited,
    RefreshRejected,
    RefreshRequired,
    ValidationFailed,
)
from service.features.notices.notices import Notices
from service.kernel.identity import Caller, Target, oneself
from service.kernel.permission_map import PermissionMap
from service.records.database.transactions import Connection
from service.settings import Password
from service.settings import Throttle as Limits
from tests.authn.conftest import Container
from tests.authn.people import USER_AGENT, log_in
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.usefixtures("own_database")

NEW = "four wary herons"


@pytest.fixture
def change(parts: Container) -> PasswordChange:
    return PasswordChange(
        database=parts.database,
        store=parts.store,
        passwords=parts.passwords,
        rules=PasswordRules(Password()),
        initial=parts.initial,
        throttle=Throttle(Limits(), parts.store.counters),
        revocations=Revocations(parts.database, parts.store),
        notices=Notices(),
    )


async def caller_of(parts: Container, permission_map: PermissionMap, device: str = "web") -> Caller:
    pair = await log_in(parts, device)
    return (await parts.authenticator.authenticate(pair.access_token, permission_map)).caller


async def own(
    change: PasswordChange, caller: Caller, current: str = ADMINISTRATOR_PASSWORD, new: str = NEW
) -> None:
    async def authorize(_: Connection) -> Target:
        return oneself(caller)

    await change.change(caller, current, new, authorize, address="10.0.0.1", user_agent=USER_AGENT)


async def test_after_a_change_only_the_new_password_logs_in(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    await own(change, await caller_of(parts, permission_map))

    with pytest.raises(LoginFailed):
        await log_in(parts)
    assert (await log_in(parts, password=NEW)).user_name == ADMINISTRATOR


async def test_a_change_ends_all_other_sessions_and_makes_this_one_refresh(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    elsewhere = await log_in(parts, "ios")
    here = await log_in(parts, "web")
    caller = (await parts.authenticator.authenticate(here.access_token, permission_map)).caller

    await own(change, caller)

    assert list(await parts.store.sessions(caller.login_id)) == ["web"]
    for pair in (elsewhere, here):
        with pytest.raises(RefreshRequired):
            await parts.authenticator.authenticate(pair.access_token, permission_map)
    with pytest.raises(RefreshRejected):
        await parts.refresh.refresh(elsewhere.refresh_token)
    renewed = await parts.refresh.refresh(here.refresh_token)
    assert (
        await parts.authenticator.authenticate(renewed.access_token, permission_map)
    ).caller.device == "web"


async def test_a_session_that_replaced_the_one_that_asks_ends_with_the_others(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    """Somebody who knows the old password logs in on the same device while it is being changed."""
    caller = await caller_of(parts, permission_map)
    intruder = await log_in(parts)
    await own(change, caller)

    with pytest.raises(RefreshRejected):
        await parts.refresh.refresh(intruder.refresh_token)
    assert await parts.store.sessions(caller.login_id) == {}


async def test_a_wrong_current_password_changes_nothing(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    caller = await caller_of(parts, permission_map)

    with pytest.raises(ValidationFailed) as refused:
        await own(change, caller, current="three weary herons")

    assert [error["field"] for error in refused.value.extra["errors"]] == ["currentPassword"]
    assert (await log_in(parts)).user_name == ADMINISTRATOR


@pytest.mark.parametrize("weak", ["seven77", "password1", "administrator", "x" * 129])
async def test_a_weak_new_password_is_refused_by_name(
    parts: Container, change: PasswordChange, permission_map: PermissionMap, weak: str
) -> None:
    with pytest.raises(ValidationFailed) as refused:
        await own(change, await caller_of(parts, permission_map), new=weak)

    assert [error["field"] for error in refused.value.extra["errors"]] == ["newPassword"]


async def test_guessing_the_current_password_is_limited_like_logging_in(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    caller = await caller_of(parts, permission_map)
    for _ in range(Limits().login_account):
        with pytest.raises(ValidationFailed):
            await own(change, caller, current="three weary herons")

    with pytest.raises(RateLimited):
        await own(change, caller)


async def test_strangers_who_guess_keep_nobody_from_changing_the_password(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    caller = await caller_of(parts, permission_map)
    for number in range(Limits().login_account):
        await change.throttle.login(ADMINISTRATOR, f"10.1.0.{number}", "a stranger's")
    with pytest.raises(RateLimited):
        await change.throttle.login(ADMINISTRATOR, "10.1.0.99", "a stranger's")

    await own(change, caller)


async def test_of_two_changes_at_once_one_wins(
    parts: Container, change: PasswordChange, permission_map: PermissionMap
) -> None:
    caller = await caller_of(parts, permission_map)
    passwords = ("four wary herons", "five wary herons")

    done = await asyncio.gather(*(own(change, caller, new=new) for new in passwords), return_exceptions=True)

    lost = [error for error in done if error is not None]
    # The slower one either found the password replaced, or was told that its own is not the current one.
    assert len(lost) == 1
    assert isinstance(lost[0], Conflict | ValidationFailed)
    assert (await log_in(parts, password=passwords[done.index(None)])).user_name == ADMINISTRATOR
