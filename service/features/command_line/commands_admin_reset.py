"""``portcullis admin reset-password`` and ``reset-factors``: restore a user's access."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing, nullcontext
from functools import partial
from time import perf_counter
from typing import Any, Final

from service.administration.change_log import user_target
from service.audit.journal import enter, passing_journal
from service.audit.seals import seals_of
from service.authn.login_log import LoginLog
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.throttle import Throttle
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.policy_guard import policy_guard
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import Parts, add_data
from service.cli.output import say
from service.errors import ValidationFailed
from service.features.command_line.recovery import Keeping, Recovered, Recovery
from service.kernel.notify import notices_of
from service.kernel.text import counted
from service.keyspace import SessionStore
from service.operator.errors import PasswordError
from service.operator.stores import reachable
from service.operator.who import asked_password, log_to_errors, operator_event, tell_security
from service.records.database.transactions import Database
from service.records.installation.schema_revision import require_current
from service.settings import Settings, load


def _add_user(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("user_name", help="the user name")


def _add_enable(parser: ArgumentParser) -> None:
    _add_user(parser)
    parser.add_argument(
        "--enable", action="store_true", help="enable the user too, and clear ban and login lockout"
    )


def _reset_password(options: Namespace, environ: Mapping[str, str]) -> None:
    """Prompt for a new password of the user, store it, and end all sessions.

    ``--enable`` also enables a disabled user, and clears the ban and the login lockout. The prompt appears
    only for an existing user. Raises ``NotFound``, ``PasswordError``, ``PolicyError``, ``SchemaError``, and
    ``Conflict``, also if the enabled user would break an invariant. Raises ``Unavailable`` if a store is
    unavailable. Then nothing was changed, or the message names the changes.
    """
    with reachable(load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)
        user_id = asyncio.run(_find(settings, options.user_name))
        password = asked_password()
        begun = perf_counter()
        try:
            done = asyncio.run(_recover(settings, user_id, password, enable=options.enable))
        except ValidationFailed as refusal:
            raise PasswordError(f"The password {refusal.extra['errors'][0]['message']}") from None
        tell_security(
            settings,
            "the password of a user was reset by the operator",
            login_id=str(done.user_id),
            user_name=done.user_name,
            ended=done.ended,
            enabled=options.enable,
        )
        _enter(settings, "admin reset-password", begun, "reset a password", done, enable=options.enable)
    say(f"The password of {done.user_name}, id {done.user_id}, is set. {_ended(done)}")
    if done.kept_out:
        say(f"The user is still {done.kept_out}: use the option --enable to change that.")


def _reset_factors(options: Namespace, environ: Mapping[str, str]) -> None:
    """Remove all second factors of the user, and end all sessions.

    Raises ``NotFound``, ``Conflict`` for a service account, ``SchemaError``, and ``Unavailable`` if a store
    is unavailable; then repeat the command.
    """
    with reachable(load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)

        async def reset() -> Recovered:
            async with _recovery(settings) as recovery:
                return await recovery.reset_factors(await recovery.find(options.user_name))

        begun = perf_counter()
        done = asyncio.run(reset())
        tell_security(
            settings,
            "the second factors of a user were reset by the operator",
            login_id=str(done.user_id),
            user_name=done.user_name,
            factors=done.factors,
            ended=done.ended,
        )
        _enter(settings, "admin reset-factors", begun, "reset second factors", done)
    removed = counted(done.factors, "factor")
    say(
        f"{done.user_name}, id {done.user_id}, has no second factor. Removed: {removed}. {_ended(done)} "
        "The password alone opens the account now."
    )
    if done.kept_out:
        say(f"The user is still {done.kept_out}.")


def _enter(
    settings: Settings, command: str, begun: float, action: str, done: Recovered, **params: Any
) -> None:
    """Log the changes; raises ``Unavailable`` if sessions may remain."""
    event = operator_event(
        command,
        begun,
        module="user",
        action=action,
        params=params or None,
        response={"ended": done.ended, "factors": done.factors},
        targets=(user_target(done.user_name),),
    )
    asyncio.run(enter(settings, event))
    if done.unsettled is not None:
        raise done.unsettled


async def _find(settings: Settings, user_name: str) -> int:
    async with _recovery(settings) as recovery:
        return await recovery.find(user_name)


async def _recover(settings: Settings, user_id: int, password: str, *, enable: bool) -> Recovered:
    async with _recovery(settings) as recovery:
        return await recovery.recover(user_id, password, enable=enable)


async def _invariants(settings: Settings, database: Database) -> Keeping:
    """Return the guard of invariants about users, which a disabled user cannot break."""
    live = LivePolicy(configured(settings), seals_of(settings.oplog))
    if not live.invariants.about_users:
        return nullcontext
    await live.load(database)
    return policy_guard(live).keeping


@asynccontextmanager
async def _recovery(settings: Settings) -> AsyncIterator[Recovery]:
    async with (
        Database(settings.database.url, pool_size=1, timeout=settings.database.timeout) as database,
        SessionStore(settings.redis, settings.auth) as store,
        passing_journal(settings, store, "admin") as journal,
    ):
        with closing(Passwords(settings.password)) as passwords:
            yield Recovery(
                database=database,
                invariants=partial(_invariants, settings, database),
                store=store,
                passwords=passwords,
                rules=PasswordRules(settings.password),
                throttle=Throttle(settings.throttle, store.counters),
                notices=notices_of(settings),
                log=LoginLog(journal.collector.login),
            )


COMMANDS: Final[Parts] = {
    "reset-password": (_add_enable, _reset_password),
    "reset-factors": (_add_user, _reset_factors),
}


def _ended(done: Recovered) -> str:
    return f"Ended: {counted(done.ended, 'session')}."
