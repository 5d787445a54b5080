"""Nobody approves the own request by a detour: who its author made, or made able to approve it, is excluded.

The *circle* of a pending request are its author and those who are excluded from it. What one of them does
while it is pending excludes others, in the same transaction; nobody is ever included again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from service.authz.engine.policy import Policy
from service.authz.publishing.derive import covered_by
from service.kernel.account_acts import Act
from service.records import request_exclusions, role_rights
from service.records.database.transactions import Connection
from service.records.request_exclusions import Ground, PendingStages

_Covered: TypeAlias = Callable[[Collection[str], Sequence[str]], tuple[str, ...]]
_Grounds: TypeAlias = dict[tuple[int, int, str], Ground]

TAKING_OVER: Final = frozenset[Act](
    (
        "set-contact",
        "set-password",
        "invite",
        "start-reset",
        "verify-address",
        "reset-factors",
        "set-service",
        "create-key",
        "enable",
        "unban",
    )
)
"""The acts by which somebody can get to act as the owner of another account, or lets that account in."""


async def begin(connection: Connection, author_id: int, request_id: int) -> None:
    """Exclude, from a request that is being made, every account that its author made, or those made.

    And accounts of which one of them still has a link or has made an API key: who has the link sets the
    password, and who has the key acts as the account.
    """
    made = await request_exclusions.made_by_circle(connection, author_id)
    await request_exclusions.exclude(connection, [request_id], made, "account")
    for owners_of in (request_exclusions.owners_of_links, request_exclusions.owners_of_keys):
        owners = await owners_of(connection, [author_id, *made])
        await request_exclusions.exclude(connection, [request_id], owners, "credentials")


@dataclass(frozen=True, slots=True)
class Circle:
    """The pending requests in whose circle a caller is; most callers are in none.

    ``acting_ids`` are who acts: the caller, and who made the caller's API key, since either of them may use
    it; nobody for the operator.
    """

    acting_ids: Collection[int] = ()
    pending: Sequence[PendingStages] = ()
    covered: _Covered | None = None

    async def has_made(self, connection: Connection, user_ids: Collection[int]) -> None:
        """Exclude accounts that the caller has made."""
        await request_exclusions.exclude(connection, self._ids, user_ids, "account")

    async def acts_on(self, connection: Connection, user_id: int, act: Act) -> None:
        """Exclude the account of another user, if ``act`` lets the caller take it over.

        In a review that is open it decides nothing about who acts either.
        """
        if act in TAKING_OVER:
            for by_id in self.acting_ids:
                await request_exclusions.take_over(connection, user_id, by_id)
            await request_exclusions.exclude(connection, self._ids, [user_id], "credentials")

    @asynccontextmanager
    async def watching(self, connection: Connection) -> AsyncIterator[None]:
        """Let the block change rights; exclude who can hold by it what they need to approve."""
        before = [await self._grounds(connection, request) for request in self.pending]
        yield
        for request, earlier in zip(self.pending, before, strict=True):
            now = await self._grounds(connection, request)
            gained = {
                ground.user_id
                for key, ground in now.items()
                if key not in earlier or not ground.is_within(earlier[key])
            }
            await request_exclusions.exclude(connection, [request.id], gained, "codes")

    @property
    def _ids(self) -> list[int]:
        return [request.id for request in self.pending]

    async def _grounds(self, connection: Connection, request: PendingStages) -> _Grounds:
        """Return by which assignments and Buttons users can hold what approvers of a request need."""
        codes = {*request.stage_codes}
        if request.grant_needed:
            codes |= await role_rights.reach_of_roles(connection, [request.role_id])
        stored = await request_exclusions.codes_like(connection, codes)
        giving = await asyncio.to_thread(self._giving, stored, sorted(codes))
        return {ground.key: ground for ground in await request_exclusions.grounds(connection, giving)}

    def _giving(self, stored: Collection[str], codes: Sequence[str]) -> list[str]:
        """Return those of the codes ``stored`` by which somebody passes a line of one of ``codes``."""
        covered = self.covered
        assert covered is not None  # noqa: S101 - of no use without a pending request
        return [code for code in stored if code in codes or covered([code], codes)]


async def circle_of(
    connection: Connection, user_id: int, policy: Policy, *, key_made_by: int | None = None
) -> Circle:
    """Return the circle of a user, who has come with an API key that ``key_made_by`` made; None without."""
    pending = await request_exclusions.pending_of_circle(connection, user_id)
    covered = covered_by(policy.model_text) if pending else None
    return Circle({user_id, key_made_by or user_id}, pending, covered)
