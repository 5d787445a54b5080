"""Prevent authors from appointing the approvers of their own requests.

The *circle* of a request consists of the accounts that count as the author's person, and of the users whom
these accounts appointed. While the request is open, users who get the rights of an approver from the circle
are recorded as appointees in the same transaction, permanently. Appointees do not count as other persons.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from service.administration.events import RightsChange
from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.publishing.derive import covered_by
from service.features.access_requests import store_appointees
from service.features.access_requests.store_appointees import Ground, PendingStages
from service.records import code_holders, role_rights
from service.records.database.transactions import Connection

_Covered: TypeAlias = Callable[[Collection[str], Sequence[str]], tuple[str, ...]]
_Grounds: TypeAlias = dict[tuple[int, int, str], Ground]


@dataclass(frozen=True, slots=True)
class Circle:
    """The open requests whose circle includes the caller; empty for most callers."""

    pending: Sequence[PendingStages] = ()
    covered: _Covered | None = None

    @asynccontextmanager
    async def watching(self, connection: Connection) -> AsyncIterator[None]:
        """Run a block that changes rights, and record users who gained an approver's rights by it."""
        before = [await self._grounds(connection, request) for request in self.pending]
        yield
        for request, earlier in zip(self.pending, before, strict=True):
            now = await self._grounds(connection, request)
            gained = {
                ground.user_id
                for key, ground in now.items()
                if key not in earlier or not ground.is_within(earlier[key])
            }
            await store_appointees.appoint(connection, request.id, gained)

    async def _grounds(self, connection: Connection, request: PendingStages) -> _Grounds:
        """Return the assignments and Buttons by which users can hold the rights of an approver."""
        codes = {*request.stage_codes}
        if request.grant_needed:
            codes |= await role_rights.reach_of_roles(connection, [request.role_id])
        stored = await code_holders.codes_like(connection, codes)
        giving = await asyncio.to_thread(self._giving, stored, sorted(codes))
        return {ground.key: ground for ground in await store_appointees.grounds(connection, giving)}

    def _giving(self, stored: Collection[str], codes: Sequence[str]) -> list[str]:
        """Return those of the codes ``stored`` with which a user passes a policy line of any of ``codes``."""
        covered = self.covered
        assert covered is not None  # noqa: S101 - needs a pending request
        return [code for code in stored if code in codes or covered([code], codes)]


async def watch(connection: Connection, change: RightsChange) -> None:
    """Record the users whom a change of rights lets approve, if the acting user is in a circle."""
    people = People(change.takeover_days)
    circle = await circle_of(connection, change.acting_ids, change.policy, people, change.at)
    if circle.pending:
        change.watches.append(circle.watching)


async def circle_of(
    connection: Connection, acting_ids: Collection[int], policy: Policy, people: People, at: datetime
) -> Circle:
    """Return the circle, at ``at``, of the acting user and of the creator of the user's API key."""
    open_ones = await store_appointees.open_ones(connection, acting_ids)
    if not open_ones:
        return Circle()
    authors = {request.user_id for request, _ in open_ones}
    persons = await people.of(connection, acting_ids, at, beside=authors)
    own = {author for author in authors if persons.same_as_one_of(author, acting_ids)}
    pending = [request for request, appointed in open_ones if appointed or request.user_id in own]
    return Circle(pending, covered_by(policy.model_text) if pending else None)
