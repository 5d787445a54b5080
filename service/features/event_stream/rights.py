"""The rights that an event stream follows, and their digests."""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from service.authn.current_rights import CurrentRights
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.sync import any_request
from service.features.event_stream import store
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import cooperatively
from service.kernel.identity import Caller
from service.kernel.services import PORTCULLIS
from service.records.database.transactions import Database
from service.web.messages.operation_metadata import Operation

MOST_KEPT: Final = 1_000
"""Sets of codes whose operations are kept."""


class Followed(NamedTuple):
    """The rights of a user: the caller that they were read as, and the policy that they were decided by.

    ``digest`` changes if and only if a front end shows something else: roles, codes, menus or operations.
    """

    caller: Caller
    policy: Policy
    digest: bytes

    @property
    def shown(self) -> dict[str, Any]:
        """Return the roles and codes, as ``GET /api/user/info`` has them."""
        return {"roles": list(self.caller.roles), "permissions": sorted(self.caller.held.codes)}


class RightsReader:
    """Reads the current rights of users with event streams."""

    def __init__(
        self,
        current: CurrentRights,
        database: Database,
        live: LivePolicy,
        operations: Callable[[], Sequence[Operation]],
    ) -> None:
        """``operations`` returns those of the service."""
        self._current = current
        self._database = database
        self._live = live
        self._operations = operations
        self._policy: Policy | None = None
        self._passed: dict[HeldCodes, bytes] = {}

    async def read(
        self, user_ids: Collection[int], known: dict[int, Followed], all_rights: bytes | None = None
    ) -> dict[int, Followed]:
        """Return the rights of those users who can log in; those in ``known`` are kept if they still hold.

        ``all_rights`` is the epoch of all rights, read after the question had arrived; None if it is not
        known. Raises ``Unavailable``.
        """
        policy = self._live.current
        callers: dict[int, Caller] = {
            who: caller
            for who, caller in (await self._current.of(user_ids, all_rights)).items()
            if isinstance(who, int)
        }
        followed = {
            user_id: before
            for user_id, caller in callers.items()
            if (before := known.get(user_id)) is not None
            and before.caller is caller
            and before.policy is policy
        }
        anew = {user_id: caller for user_id, caller in callers.items() if user_id not in followed}
        if anew:
            menus = await self._menus({code for caller in anew.values() for code in caller.roles})
            for user_id, caller in anew.items():
                digest = _digest(caller, menus, await self._passes(policy, caller.held))
                followed[user_id] = Followed(caller, policy, digest)
        return followed

    async def _menus(self, roles: Collection[str]) -> dict[str, str]:
        if not roles:
            return {}
        async with self._database.snapshot() as connection:
            return await store.menus_of_roles(connection, roles)

    async def _passes(self, policy: Policy, held: HeldCodes) -> bytes:
        """Return a digest of the operations that the policy allows to ``held``."""
        if policy is not self._policy or len(self._passed) >= MOST_KEPT:
            self._policy, self._passed = policy, {}
        kept = self._passed
        if (digest := kept.get(held)) is None:
            # Hundreds of decisions take a while; in a thread, requests need not wait for them.
            digest = kept[held] = await asyncio.to_thread(_passed, policy, held, self._operations())
        return digest


def _passed(policy: Policy, held: HeldCodes, operations: Sequence[Operation]) -> bytes:
    allowed = [
        operation.object
        for operation in cooperatively(operations)
        if policy.judge_route(PORTCULLIS, operation.method, any_request(operation.template), held).allowed
    ]
    return _hash(allowed)


def _digest(caller: Caller, menus: dict[str, str], passed: bytes) -> bytes:
    own = [(code, menus.get(code, "")) for code in sorted(caller.roles)]
    return _hash([own, sorted(caller.held.codes), passed])


def _hash(value: Any) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=16).digest()
