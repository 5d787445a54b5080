"""Checks of administrators with all rights, and of second factors."""

from datetime import timedelta

from service.authn.proving import ClosedPasswords
from service.authz.publishing.lockout import demanded_acr
from service.authz.publishing.publisher import derived_policy
from service.features.operations.diagnosis.upkeep_checks import NEW
from service.kernel.text import RESERVED, counted, name_key, printable
from service.operator.findings import Finding, Installation, fault, few, ok, warning
from service.records import role_rights
from service.records.installation.seed_catalogue import ADMINISTRATOR
from service.records.user_overview import administrators, reserved_names, unconfirmed

_MANY = 5
_FIRST_PASSWORD = timedelta(days=1)


async def enough_administrators(installation: Installation) -> Finding:
    """Check the number of administrators: a single one can be locked out, and many are many targets."""
    async with installation.records() as connection:
        admins = await administrators(connection)
    names = ", ".join(admin.user_name for admin in admins[:_MANY])
    if not admins:
        return fault(
            "no enabled user holds *",
            "portcullis admin reset-password NAME --enable, or portcullis admin create NAME --role super",
        )
    if len(admins) == 1 and admins[0].now - admins[0].create_time < NEW:
        return ok(f"only {names} holds *, but the installation is new")
    if len(admins) == 1:
        return warning(f"only {names} holds *", "assign a role with * to a second person")
    if len(admins) > _MANY:
        return warning(
            f"{len(admins)} users hold *: {names} and others", "assign smaller roles to users who need less"
        )
    return ok(f"{len(admins)} users hold *: {names}")


async def first_administrator(installation: Installation) -> Finding:
    """The name is well known, and logs may hold the first password."""
    name = ADMINISTRATOR.user_name
    async with installation.records() as connection:
        admins = await administrators(connection)
    first = [admin for admin in admins if name_key(admin.user_name) == name_key(name)]
    if not first:
        return ok(f"no administrator is called {name}")
    if first[0].password_time is None:
        age = first[0].now - first[0].create_time
        if age < _FIRST_PASSWORD:
            return ok(f"{name} has the initial password, less than a day old")
        return warning(
            f"{name} still has the initial password, {age.days} days old",
            f"portcullis admin reset-password {name}",
            users=[(first[0].id, name)],
        )
    return ok(f"{name} has changed the initial password")


async def addresses(installation: Installation) -> Finding:
    """A user without a confirmed address gets no link for a forgotten password; an upgrade confirms none."""
    async with installation.records() as connection:
        without, everybody = await unconfirmed(connection)
    message = f"{without} of {everybody} enabled users with a password have no confirmed address"
    if not without or not installation.settings.mail.url:
        return ok(message if installation.settings.mail.url else f"{message}, and mail is turned off")
    return warning(
        message,
        "ask these users to confirm their address in their profile, or mark it as verified: "
        "docs/reference/users.md",
    )


async def way_in(installation: Installation) -> Finding:
    """An administrator with all rights must be able to sign in while a provider is down or cut off."""
    settings = installation.settings.oidc
    if not settings.providers:
        return ok("no user signs in with a provider")
    async with installation.records() as connection:
        acr = demanded_acr(await derived_policy(connection, installation.policy, installation.in_force))
        able = await role_rights.able_administrators(connection, acr)
        closed = ClosedPasswords(settings)
        able = [user_id for user_id in able if not await closed.includes(connection, user_id)]
    beside = "a password" if acr == "pwd" else f"a password and a second factor ({acr})"
    if able:
        return ok(f"{counted(len(able), 'user')} with a permanent * can log in with {beside}")
    return fault(
        f"no user with a permanent * has {beside}: if the provider fails, no administrator can log in",
        "portcullis admin reset-password NAME, log in, and enrol a factor: docs/guides/second-factors.md",
    )


async def user_names(installation: Installation) -> Finding:
    """Earlier versions allowed user names that the logs reserve for other actors."""
    async with installation.records() as connection:
        reserved = await reserved_names(connection, _MANY)
    if not reserved:
        return ok(f"no user name starts with {RESERVED}")
    return warning(
        f"user names start with {RESERVED}, which is reserved in the logs: "
        f"{few([printable(name) for _, name in reserved])}",
        "rename the users: PATCH /api/user/{id} with userName",
        users=reserved,
    )
