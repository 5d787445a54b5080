"""``portcullis admin create``: create a user without the API."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from time import perf_counter

from service.administration.change_log import imported_user, user_target
from service.audit.journal import enter
from service.audit.redaction import kept_changes
from service.audit.seals import seals_of
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.policy_guard import policy_guard
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.errors import ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.identity import NewAccount
from service.kernel.text import name_fault
from service.operator.errors import NameFormatError, PasswordError, UnpreparedError
from service.operator.stores import reachable
from service.operator.who import asked_password, operator_event, tell_security
from service.records import accounts, role_rights, user_list
from service.records.database.transactions import Database
from service.records.installation.seed import is_seeded
from service.records.user_list import UserValues
from service.settings import Settings, load


def add_arguments(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("user_name", help="the user name")
    parser.add_argument(
        "--role", action="append", default=[], metavar="CODE", help="a role code; may be given more than once"
    )


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Create an enabled user with the roles of ``--role``, prompt for the password, and print the id.

    Raises ``NameFormatError``, ``PasswordError``, ``Conflict`` for a taken name or for roles that break an
    invariant, ``ValidationFailed`` for an unknown role, ``UnpreparedError`` for a database without initial
    data, ``PolicyError`` and ``Unavailable``.
    """
    name = options.user_name
    with reachable(load(environ)) as settings:
        if fault := name_fault(name):
            raise NameFormatError(f"The user name {fault}")
        password, user = asked_password(), UserValues(user_name=name, nick_name=name)
        if complaint := PasswordRules(settings.password).complaint(password, user):
            raise PasswordError(f"The password {complaint}")
        begun = perf_counter()
        user_id = asyncio.run(_create(settings, user, password, options.role))
        tell_security(
            settings,
            "a user was created by the operator",
            login_id=str(user_id),
            user_name=name,
            roles=sorted(set(options.role)),
        )
        changes = imported_user(user, options.role)
        event = operator_event(
            "admin create",
            begun,
            module="user",
            action="create",
            kind="INSERT",
            targets=(user_target(name),),
            changes=kept_changes(changes),
            change_count=len(changes),
        )
        asyncio.run(enter(settings, event))
    say(f"User {name} has id {user_id}.")


async def _create(settings: Settings, user: UserValues, password: str, role_codes: Sequence[str]) -> int:
    live = LivePolicy(configured(settings), seals_of(settings.oplog))
    with closing(Passwords(settings.password)) as passwords:
        password_hash = await passwords.hash(password)
    # One connection reads the policy while the other holds the lock of rights.
    async with (
        Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database,
        database.transaction() as connection,
    ):
        if not await is_seeded(connection):
            raise UnpreparedError("The database has no roles yet: start the service once, then try again")
        await role_rights.lock(connection)  # no role can be deleted until the commit
        if live.invariants.about_roles:
            await live.load(database)
        roles = await user_list.role_ids(connection, role_codes)
        if unknown := sorted(set(role_codes) - set(roles)):
            raise ValidationFailed(*(("role", sentence("no_role_with_code", role=code)) for code in unknown))
        async with policy_guard(live).keeping(connection):
            return await accounts.create(
                connection, password_hash, NewAccount(asdict(user)), list(roles.values())
            )
