"""``portcullis user erase``: delete a user, and erase the personal data in tables and logs."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from time import perf_counter
from typing import Final

from service.administration.accounts import Accounts
from service.administration.change_log import user_target
from service.administration.job_edits import job_edits
from service.administration.operator_delegation import OperatorDelegation
from service.audit.journal import enter
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, say, show
from service.errors import ValidationFailed
from service.features.audit_proof.maintenance import retention
from service.features.personal_data.commands_data import number_of
from service.features.personal_data.erasures import SETTLE, Erasures, Passes, Plan
from service.kernel.notify import notices_of
from service.kernel.operator_error import OperatorError
from service.kernel.text import counted
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.operator.stores import reachable
from service.operator.units import operator
from service.operator.who import log_to_errors, operator_event, tell_security
from service.records.database.transactions import Database
from service.records.installation.schema_revision import require_current
from service.settings import Settings, load

_CONNECTIONS: Final = 3


class ReasonError(OperatorError):
    """The reason is missing, or not acceptable."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the user, the reason, and the choice between the preview and the erasure."""
    add_data(parser)
    parser.add_argument("user_name", metavar="NAME", help="the user name, or #NUMBER, also of a deleted user")
    parser.add_argument("--reason", metavar="TEXT", default="", help="the reason, for the operation log")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--preview", action="store_true", help="only print what would be erased (default)")
    chosen.add_argument("--yes", action="store_true", help="erase; nothing can be restored")
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the plan of the erasure, or erase.

    Raises ``ReasonError`` without a reason, or for one that names the person. Raises ``NotFound``,
    ``Conflict`` for the last administrator, ``PolicyError``, ``SchemaError`` and ``Unavailable``; after a
    deletion the job goes on, or the command with the number.
    """
    begun = perf_counter()
    with reachable(load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)
        plan, changed = asyncio.run(_erased(settings, options))
        if changed is not None:
            _enter(settings, plan, begun, options.reason)
    if changed is None:
        show(options, plan, lambda: _lines(plan))
        return
    minutes = int(SETTLE.total_seconds() // 60)
    say(
        f"User #{plan.user_id} is erased: {counted(changed, 'row')} changed. For {minutes} minutes the job "
        f"personal-data-erasures looks for later rows; without a running service, repeat the command with "
        f"#{plan.user_id} after that time."
    )


async def _erased(settings: Settings, options: Namespace) -> tuple[Plan, int | None]:
    """Return the plan before the erasure, and the number of changes; None for a preview."""
    async with _erasures(settings) as erasures:
        user_id = await number_of(erasures.database, options.user_name)
        caller = operator()
        plan = await erasures.plan(caller, user_id)
        if not options.yes:
            return plan, None
        try:
            return plan, await erasures.erase(Write(caller), user_id, options.reason)
        except ValidationFailed as refusal:
            raise ReasonError(f"The reason {refusal.extra['errors'][0]['message']}") from None


@asynccontextmanager
async def _erasures(settings: Settings) -> AsyncIterator[Erasures]:
    url, timeout = settings.database.url, settings.database.timeout
    async with (
        Database(url, pool_size=_CONNECTIONS, timeout=timeout) as database,
        job_edits(database, settings) as edits,
        SessionStore(settings.redis, settings.auth) as store,
    ):
        with closing(Passwords(settings.password)) as passwords:
            accounts = Accounts(
                edits.units(),
                edits.revocations,
                passwords,
                PasswordRules(settings.password),
                address_changed=_nothing_follows,
                notices=notices_of(settings),
            )
            delegation = OperatorDelegation(edits.live, database)
            passes = Passes.of(settings, database, store)
            yield Erasures(database, accounts, delegation, passes, retention(settings.oplog))


async def _nothing_follows(*_: object) -> None:
    """Do nothing: a deletion changes no address."""


def _enter(settings: Settings, plan: Plan, begun: float, reason: str) -> None:
    tell_security(settings, "a user was erased by the operator", login_id=str(plan.user_id))
    event = operator_event(
        "user erase",
        begun,
        module="user",
        action="erase personal data",
        kind="DELETE",
        params={"reason": reason},
        targets=(user_target(f"#{plan.user_id}"),),
    )
    asyncio.run(enter(settings, event))


def _lines(plan: Plan) -> Iterator[str]:
    """Yield the plan in lines."""
    named = "deleted" if plan.user_name is None else plan.user_name
    yield f"User #{plan.user_id} ({named})"
    if plan.erasure is not None and plan.erasure.end_time is None:
        yield "An erasure runs."
    yield from _listed("Searched values:", [[value] for value in plan.searched])
    yield from _listed(
        "Values that others have, or that are common words; erased only in rows of the number:",
        [[value] for value in plan.shared],
    )
    tables = [["table", "deleted", "redacted", "kept under a seal"]]
    tables += [[each.table, str(each.deleted), str(each.redacted), str(each.kept)] for each in plan.tables]
    yield from _listed("Rows:", tables if plan.tables else [])
    for log in plan.logs:
        until = "for ever" if log.older_until is None else f"until {log.older_until:%Y-%m-%d}"
        older = f"; {log.older} without commitments stay {until}" if log.older else ""
        plain = f"; {log.plain} keep a value in a change of another record" if log.plain else ""
        yield f"{log.log}: {log.erased} entries erased{older}{plain}"
    archives = [[each.kind, f"{each.time:%Y-%m-%d %H:%M}", each.name] for each in plan.archives]
    yield from _listed("Files that can hold the person, and stay:", archives)
    yield "Nothing was erased: repeat with --reason and --yes."


def _listed(title: str, rows: list[list[str]]) -> Iterator[str]:
    if rows:
        yield title
        yield from aligned(rows, indent="  ")
