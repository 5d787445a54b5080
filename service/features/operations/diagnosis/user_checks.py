"""Checks of administrators with all rights, and of second factors."""

from datetime import timedelta

from service.authn.proving import ClosedPasswords
from service.features.operations.diagnosis.upkeep_checks import NEW
from service.features.operations.sentences import sentence
from service.features.policy_checks.lockout import demanded_acr
from service.kernel.text import RESERVED, name_key
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
            sentence("no_administrator"),
            sentence(
                "either_command",
                command="portcullis admin reset-password NAME --enable",
                other="portcullis admin create NAME --role super",
            ),
        )
    if len(admins) == 1 and admins[0].now - admins[0].create_time < NEW:
        return ok(sentence("single_new_administrator", name=names))
    if len(admins) == 1:
        return warning(sentence("single_administrator", name=names), sentence("second_administrator"))
    if len(admins) > _MANY:
        return warning(
            sentence("many_administrators", count=len(admins), names=names), sentence("smaller_roles")
        )
    return ok(sentence("administrators_counted", count=len(admins), names=names))


async def first_administrator(installation: Installation) -> Finding:
    """The name is well known, and logs may hold the first password."""
    name = ADMINISTRATOR.user_name
    async with installation.records() as connection:
        admins = await administrators(connection)
    first = [admin for admin in admins if name_key(admin.user_name) == name_key(name)]
    if not first:
        return ok(sentence("no_administrator_called", name=name))
    if first[0].password_time is None:
        age = first[0].now - first[0].create_time
        if age < _FIRST_PASSWORD:
            return ok(sentence("new_initial_password", name=name))
        return warning(
            sentence("initial_password", name=name, days=age.days),
            sentence("run_command", command=f"portcullis admin reset-password {name}"),
            users=[(first[0].id, name)],
        )
    return ok(sentence("initial_password_changed", name=name))


async def addresses(installation: Installation) -> Finding:
    """A user without a confirmed address gets no link for a forgotten password; an upgrade confirms none."""
    async with installation.records() as connection:
        without, everybody = await unconfirmed(connection)
    message = sentence("unconfirmed_addresses", count=without, all=everybody)
    if not installation.settings.mail.url:
        return ok(sentence("unconfirmed_addresses_without_mail", count=without, all=everybody))
    return warning(message, sentence("confirm_addresses")) if without else ok(message)


async def way_in(installation: Installation) -> Finding:
    """An administrator with all rights must be able to sign in while a provider is down or cut off."""
    settings = installation.settings.oidc
    if not settings.providers:
        return ok(sentence("no_provider_sign_in"))
    async with installation.records() as connection:
        acr = demanded_acr(await installation.derived(connection))
        able = await role_rights.able_administrators(connection, acr)
        closed = ClosedPasswords(settings)
        able = [user_id for user_id in able if not await closed.includes(connection, user_id)]
    if able:
        return ok(sentence("ways_in", count=len(able), factor=acr))
    return fault(sentence("no_way_in", factor=acr), sentence("open_way_in"))


async def user_names(installation: Installation) -> Finding:
    """Earlier versions allowed user names that the logs reserve for other actors."""
    async with installation.records() as connection:
        reserved = await reserved_names(connection, _MANY)
    if not reserved:
        return ok(sentence("no_reserved_name", beginning=RESERVED))
    return warning(
        sentence("reserved_names", beginning=RESERVED, names=few(name for _, name in reserved)),
        sentence("rename_users", request="PATCH /api/user/{id}"),
        users=reserved,
    )
