"""A job that assigns members' roles again after a directory's mapping or ceiling has changed.

The edit itself ends roles that no group grants any more, or that are beyond the ceiling. The job ends roles
of groups to which the member does not belong, and grants the new roles of the member's groups.
"""

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from time import perf_counter
from typing import Final, TypeAlias

import structlog

from service.administration.accounts import Accounts
from service.administration.job_edits import OPERATOR_OF_JOBS, job_edits
from service.administration.unit_of_work import RightsUnits
from service.audit.journal import enter_changes
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.errors import Conflict, ValidationFailed
from service.features.directories import store as directories
from service.features.directories.directory import Directories
from service.features.directories.managed import target_of
from service.features.directories.sentences import sentence
from service.features.directories.store import Member
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import Notices
from service.kernel.write import Write
from service.records.database.transactions import Database
from service.settings import Settings

JOB: Final = "directory-members"
AT_ONCE: Final = 50
"""Members per transaction, because edits of rights wait for it."""
_WITHIN: Final = 60.0  # seconds

_Ends: TypeAlias = tuple[datetime | None, datetime | None]

_log = structlog.get_logger(__name__)


async def update_member_roles(database: Database, settings: Settings, notices: Notices) -> Sentence:
    """Grant and end the roles of all waiting members, in portions; return their number as text.

    Progress is stored with each step: a stopped run continues, and a changed mapping restarts. The ceiling
    decides about each role. Each step with a change is logged in the operation log. Raises ``Unavailable``
    and ``PolicyError``.
    """
    async with database.snapshot() as connection:
        waiting = [
            each.name for each in await directories.every(connection) if each.waiting_after is not None
        ]
    if not waiting:
        return sentence("no_member_pending")
    with closing(Passwords(settings.password)) as passwords:
        async with job_edits(database, settings) as edits:
            units, revocations = edits.units(), edits.revocations
            rules = PasswordRules(settings.password)
            accounts = Accounts(
                units, revocations, passwords, rules, notices=notices, address_changed=_nothing_follows
            )
            changes = Directories(
                units, accounts, revocations, notices, edits.clock.now, providers=settings.oidc.names
            )
            counts = [await _follow_all(settings, units, changes, name) for name in waiting]
    return sentence("member_roles_updated", count=sum(counts), directories=waiting)


async def _follow_all(settings: Settings, units: RightsUnits, changes: Directories, name: str) -> int:
    count, most = 0, AT_ONCE
    left_out: set[int] = set()
    while True:
        begun = perf_counter()
        members: list[Member] = []
        try:
            async with units.of_rights(Write(OPERATOR_OF_JOBS), within=_WITHIN, pace="bulk") as unit:
                stored = await directories.named(unit.connection, name)
                if stored is None or stored.waiting_after is None:
                    return count
                members = await directories.waiting_members(unit.connection, stored, changes.now(), most)
                due = [each for each in members if each.user_id not in left_out]
                for (until, since), groups in _by_ends(due).items():
                    await changes.follow(unit, name, groups, until=until, since=since)
                behind = members[-1].user_id if len(members) == most else None
                await directories.wait_after(unit.connection, name, behind)
        except (Conflict, ValidationFailed) as refusal:
            if not members:
                raise
            # The step would break an invariant, so try each of several members alone.
            if most == 1:
                left_out.add(members[0].user_id)
                facts = {"directory": name, "login_id": str(members[0].user_id), "reason": refusal.detail}
                _log.warning("a member of a directory keeps the roles from before", **facts)
            most = 1
            continue
        if unit.changes:
            await enter_changes(
                settings,
                unit.changes,
                module="directory",
                action="give roles anew",
                url=f"{JOB} {name}",
                begun=begun,
                targets=(target_of(name),),
            )
        count, most = count + len(members), min(2 * most, AT_ONCE)
        if behind is None:
            return count


def _by_ends(members: Sequence[Member]) -> dict[_Ends, dict[int, Sequence[str]]]:
    """Return the groups of members, by user; members whose roles expire at the same time are together."""
    alike: dict[_Ends, dict[int, Sequence[str]]] = {}
    for each in members:
        alike.setdefault((each.until, each.since), {})[each.user_id] = each.groups
    return alike


async def _nothing_follows(*_: object) -> None:
    """Ignore a changed address: the job changes none."""
