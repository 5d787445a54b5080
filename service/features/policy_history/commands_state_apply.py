"""``portcullis state apply FILE``: makes the stored state equal to a file, completely or not at all."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import msgspec

from service import settings as table
from service.audit.entries import encode
from service.audit.intents import UNKNOWN
from service.audit.journal import enter
from service.audit.redaction import kept_changes
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import show
from service.errors import Refusal, Unavailable
from service.features.policy_history.sentences import sentence
from service.features.policy_history.state import State
from service.features.policy_history.state_applying import Applied, StateChanges
from service.features.policy_history.state_edits import EditRefusedError, Edits, in_words
from service.features.policy_history.state_reading import read_state_file
from service.features.policy_history.state_report import applied_as_lines, applied_report
from service.kernel.identity import Caller
from service.kernel.origin import ChangeRecord
from service.kernel.write import Write
from service.operator.errors import LaunchError, UnpreparedError
from service.operator.stores import reachable
from service.operator.units import caller_named, operator, units_of_work
from service.operator.who import log_to_errors, operator_event, operator_name, tell_security
from service.records.database.transactions import Connection, Database
from service.records.installation.schema_revision import require_current
from service.records.installation.seed import is_seeded
from service.records.logs.events import OperationEvent
from service.records.logs.inserts import keep_intent
from service.settings import Settings


class ApplyError(LaunchError):
    """Nothing was saved; the message names the edit and the reason."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file, and the applying user."""
    add_data(parser)
    parser.add_argument("file", metavar="FILE", help="a file that portcullis state export has written")
    parser.add_argument(
        "--as", dest="user", metavar="USER", help="with the rights of this user instead of the operator"
    )
    parser.add_argument("--prune", action="store_true", help="delete what is not in the file")
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Apply the file, and print the result.

    Raises ``YamlError`` with all faults of the file, ``ApplyError``, and what ``StateChanges.apply`` raises.
    """
    file = Path(options.file)
    state, digest = read_state_file(file)
    order = Order(file, digest, state, options.prune, options.user)
    with reachable(table.load(environ)) as settings:
        done = apply(settings, order)
    show(options, applied_report(done), lambda: applied_as_lines(done))


@dataclass(frozen=True, slots=True)
class Order:
    """The order to apply a file: the file, its SHA-256, and the state that it describes.

    ``prune`` deletes objects that the file lacks. ``user`` is None for the operator.
    """

    file: Path
    digest: str
    desired: State
    prune: bool
    user: str | None


def apply(settings: Settings, order: Order) -> Applied:
    """Apply the order, and record it in the operation log, also if it is refused.

    An order that changes something is also logged as a security event.
    """
    log_to_errors(settings)
    require_current(settings.database.url)
    begun = perf_counter()
    caller, event, outcome = asyncio.run(_apply(settings, order, begun))
    if event is not None:
        asyncio.run(enter(settings, event))
    if isinstance(outcome, EditRefusedError | Refusal):
        raise ApplyError(in_words(outcome)) from outcome
    if outcome.edits:
        tell_security(
            settings,
            "a state file was applied",
            user_name=caller.user_name,
            file=order.file.name,
            edits=len(outcome.edits.edits),
            revision=outcome.revision,
        )
    return outcome


async def _apply(
    settings: Settings, order: Order, begun: float
) -> tuple[Caller, OperationEvent | None, Applied | EditRefusedError | Refusal]:
    """Apply the order; return the caller, the log entry (None without edits) and the outcome.

    Raises errors that are not refusals of the order. If the edits were saved nevertheless, their stored
    intent becomes the log entry.
    """
    event: OperationEvent | None = None
    async with Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database:
        async with database.transaction() as connection:
            if not await is_seeded(connection):
                raise UnpreparedError("The database has no roles yet: start the service once, then try again")
        caller = operator() if order.user is None else await caller_named(database, order.user)

        async def keep(connection: Connection, edits: Edits, recorded: ChangeRecord) -> None:
            nonlocal event
            event = _event(order, caller, begun, edits, recorded)
            intent = msgspec.structs.replace(event, status=UNKNOWN, error="unanswered", response=None)
            await keep_intent(connection, intent.event_id, intent.create_time, encode(intent))

        try:
            async with units_of_work(settings, database, configured(settings)) as units:
                cause = sentence("cause_state_applied", file=order.file.name)
                applied = await StateChanges(units).apply(
                    Write(caller), order.desired, prune=order.prune, cause=cause, keep=keep
                )
        except Unavailable:
            raise
        except (EditRefusedError, Refusal) as refused:
            return caller, _refused(_event(order, caller, begun), refused), refused
    if event is not None:
        event = msgspec.structs.replace(event, policy_revision=applied.revision)
    return caller, event, applied


def _event(
    order: Order,
    caller: Caller,
    begun: float,
    edits: Edits | None = None,
    recorded: ChangeRecord | None = None,
) -> OperationEvent:
    """Return the log entry of an order, with the record of the ``edits`` made."""
    event = operator_event(
        "state apply",
        begun,
        module="state",
        action="apply",
        params={
            "file": order.file.name,
            "sha256": order.digest,
            "prune": order.prune,
            "operator": operator_name(),
        },
        user_id=None if caller.is_operator else caller.user_id,
        user_name=caller.user_name,
    )
    if edits is None or recorded is None:
        return event
    return msgspec.structs.replace(
        event,
        response={"edits": [f"{edit.action} {edit.kind} {edit.key}" for edit in edits.edits]},
        targets=recorded.targets,
        changes=kept_changes(recorded.changes),
        change_count=len(recorded.changes),
    )


def _refused(event: OperationEvent, outcome: EditRefusedError | Refusal) -> OperationEvent:
    """Return the entry of an order that was refused."""
    refusal = outcome.refusal if isinstance(outcome, EditRefusedError) else outcome
    denial = refusal.decision
    return msgspec.structs.replace(
        event,
        status=refusal.status,
        error=refusal.code,
        decision=None if denial is None else "deny",
        decision_id=None if denial is None else denial.id,
        policy_revision=None if denial is None else denial.revision,
    )
