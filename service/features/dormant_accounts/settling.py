"""Notify the owners of dormant accounts, and later disable the accounts; off by default."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Final

import structlog

from service.administration import change_log, user_edits
from service.administration.job_edits import OPERATOR_OF_JOBS, job_edits
from service.administration.unit_of_work import RightsUnits
from service.audit.journal import enter_changes
from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound
from service.features.dormant_accounts import store as dormant
from service.features.dormant_accounts.sentences import sentence
from service.features.dormant_accounts.store import Quiet
from service.kernel.clock import now
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import Notices
from service.kernel.origin import FieldChange
from service.kernel.write import Write
from service.records import user_list
from service.records.database.transactions import Database
from service.settings import Settings

JOB: Final = "dormant-accounts"
AT_ONCE: Final = 200
"""Maximum number of accounts that one run notifies, and that it disables."""

_log = structlog.get_logger(__name__)


async def settle(database: Database, settings: Settings, notices: Notices) -> Sentence:
    """Notify the owners of unused accounts, and disable those whose grace period after the notice is over.

    Each step is logged in the operation log. An account stays enabled if no administrator would remain, or an
    invariant would break. Raises Unavailable and PolicyError.
    """
    auth = settings.auth
    if not auth.dormant_days:
        return sentence("dormancy_is_off")
    async with database.snapshot(within=30.0) as connection:
        quiet = await dormant.quiet(connection, auth.dormant_days)
    untold = [each for each in quiet if each.told_time is None][:AT_ONCE]
    long_ago = now() - timedelta(days=auth.dormant_grace)
    due = [each for each in quiet if each.told_time is not None and each.told_time <= long_ago]
    for each in untold:
        await _tell(database, settings, notices, each)
    disabled, kept = 0, 0
    if due:
        async with job_edits(database, settings) as edits:
            disabler = _Disabler(settings, edits.units(), edits.revocations, notices)
            for each in due:
                if disabled == AT_ONCE:
                    break
                done = await disabler.disable(each)
                disabled, kept = disabled + done, kept + (not done)
    return sentence("dormant_settled", notified=len(untold), disabled=disabled, kept=kept)


async def _tell(database: Database, settings: Settings, notices: Notices, each: Quiet) -> None:
    until = now() + timedelta(days=settings.auth.dormant_grace)
    async with database.transaction() as connection:
        if not await dormant.quiet(connection, settings.auth.dormant_days, each.user_id):
            return
        await notices.notify(connection, each.user_id, dormant.KIND, "operator", {"until": until})
    await _enter(settings, each, "tell a dormant account", perf_counter())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Disabler:
    settings: Settings
    units: RightsUnits
    revocations: Revocations
    notices: Notices

    async def disable(self, each: Quiet) -> bool:
        """Disable the account if it is still dormant; return true if it was disabled."""
        begun = perf_counter()
        try:
            async with self.units.of_rights(Write(OPERATOR_OF_JOBS)) as unit:
                days = self.settings.auth.dormant_days
                if not await dormant.quiet(unit.connection, days, each.user_id):
                    return False
                before = await user_list.read(unit.connection, each.user_id)
                target = await unit.check.target(unit.connection, each.user_id, "disable")
                edit = await user_edits.edit(
                    unit.connection,
                    unit.check,
                    target,
                    before,
                    {"status": "disabled"},
                    notices=self.notices,
                )
                changes = change_log.edited_user(edit.before, edit.after)
                unit.leaving.add(each.user_id)
                unit.follow_ups.append(partial(self.revocations.settle, target))
        except NotFound:
            return False
        except Conflict as refusal:  # the last administrator, or an invariant
            _log.warning(
                "a dormant account stays enabled",
                user_id=each.user_id,
                user_name=each.user_name,
                reason=refusal.detail,
            )
            return False
        await _enter(self.settings, each, "disable a dormant account", begun, changes)
        return True


async def _enter(
    settings: Settings, each: Quiet, action: str, begun: float, changes: Sequence[FieldChange] = ()
) -> None:
    """Write the log entry of a step."""
    targets = [change_log.user_target(each.user_name)]
    await enter_changes(
        settings, changes, module="user", action=action, url=JOB, begun=begun, targets=targets
    )
