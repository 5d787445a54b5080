"""Resetting passwords on real stores."""

import pytest

from service.administration.accounts import PasswordReset
from service.administration.delegation import Delegation
from service.authn.password_change import PasswordChange
from service.authn.password_rules import PasswordRules
from service.authn.revocations import Revocations
from service.authn.throttle import Throttle
from service.errors import ActOnOneself, LoginFailed, NotFound, PermissionDenied
from service.features.notices.notices import Notices
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.settings import Password
from service.settings import Throttle as Limits
from tests.authn.conftest import Container
from tests.authn.people import execute, log_in
from tests.support.seeded import create_user

pytestmark = pytest.mark.usefixtures("own_database")

NEW = "four wary herons"


@pytest.fixture
def resets(parts: Container, delegation: Delegation) -> PasswordReset:
    return PasswordReset(
        delegation,
        PasswordChange(
            database=parts.database,
            store=parts.store,
            passwords=parts.passwords,
            rules=PasswordRules(Password()),
            initial=parts.initial,
            throttle=Throttle(Limits(), parts.store.counters),
            revocations=Revocations(parts.database, parts.store),
            notices=Notices(),
        ),
    )


async def caller_of(parts: Container, permission_map: PermissionMap, device: str = "web") -> Caller:
    pair = await log_in(parts, device)
    return (await parts.authenticator.authenticate(pair.access_token, permission_map)).caller


async def new_user(parts: Container, name: str, *roles: str) -> int:
    async with parts.database.transaction() as connection:
        return await create_user(connection, name, await parts.passwords.hash("old but long"), *roles)


async def test_a_reset_ends_every_session_of_the_user(
    parts: Container, resets: PasswordReset, permission_map: PermissionMap
) -> None:
    user_id = await new_user(parts, "heron", "auditor")
    await log_in(parts, "ios", "old but long", user_name="heron")

    await resets.reset(await caller_of(parts, permission_map), user_id, NEW)

    assert await parts.store.sessions(str(user_id)) == {}
    with pytest.raises(LoginFailed):
        await log_in(parts, "ios", "old but long", user_name="heron")
    assert (await log_in(parts, "ios", NEW, user_name="heron")).user_id == user_id


@pytest.mark.parametrize(
    ("held", "role", "allowed"),
    [
        (["*"], "super", True),
        (["system:*"], "super", False),
        (["system:*"], "admin", True),
        (["system:user:reset-password"], "auditor", False),
        (["system:user:reset-password"], "user", True),
        (
            ["system:*:list", "system:*:detail", "system:*:export", "system:*:read", "system:*:evidence"],
            "auditor",
            True,
        ),
    ],
)
async def test_nobody_resets_the_password_of_a_user_who_holds_more(
    parts: Container,
    resets: PasswordReset,
    permission_map: PermissionMap,
    held: list[str],
    role: str,
    *,
    allowed: bool,
) -> None:
    user_id = await new_user(parts, "heron", role)
    administrator = await caller_of(parts, permission_map)
    caller = Caller(
        user_id=administrator.user_id,
        login_id=administrator.login_id,
        user_name="clerk",
        nick_name="clerk",
        device="web",
        roles=(),
        held=HeldCodes(held),
        issued_at=administrator.issued_at,
    )

    if allowed:
        await resets.reset(caller, user_id, NEW)
    else:
        with pytest.raises(PermissionDenied):
            await resets.reset(caller, user_id, NEW)

    password = NEW if allowed else "old but long"
    assert (await log_in(parts, "ios", password, user_name="heron")).user_id == user_id


async def test_resetting_the_password_of_nobody_is_not_found(
    parts: Container, resets: PasswordReset, permission_map: PermissionMap
) -> None:
    with pytest.raises(NotFound):
        await resets.reset(await caller_of(parts, permission_map), 4711, NEW)


async def test_rights_that_were_lost_after_the_token_was_issued_count_no_more(
    parts: Container, resets: PasswordReset, permission_map: PermissionMap
) -> None:
    heron = await new_user(parts, "heron", "auditor")
    administrator = await caller_of(parts, permission_map)
    await execute(parts, "DELETE FROM sys.user_role WHERE user_id = :id", id=administrator.user_id)

    with pytest.raises(PermissionDenied):
        await resets.reset(administrator, heron, NEW)


async def test_the_own_password_is_not_reset_without_the_current_one(
    parts: Container, resets: PasswordReset, permission_map: PermissionMap
) -> None:
    administrator = await caller_of(parts, permission_map)

    with pytest.raises(ActOnOneself, match="with the current one"):
        await resets.reset(administrator, administrator.user_id, NEW)
