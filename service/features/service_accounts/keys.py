"""Creation, listing and deletion of service accounts' API keys."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck
from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.service_accounts import store
from service.features.service_accounts.form import HINT, ApiKey, new_secret
from service.features.service_accounts.sentences import sentence
from service.features.service_accounts.store import StoredKey
from service.kernel.account_acts import Act
from service.kernel.clock import rfc3339
from service.kernel.identity import Caller, Target
from service.kernel.notify import Notices, acted_by
from service.kernel.origin import field_changes
from service.kernel.text import text_fault
from service.kernel.value_rules import code_fault
from service.records import role_rights, user_list
from service.records.database.transactions import Connection, Database
from service.records.user_list import User

MOST: Final = 100
"""The maximum number of keys of one account, including expired ones."""


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key, and its text, which can't be read again."""

    stored: StoredKey
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApiKeys:
    """Creates and deletes keys, for callers who hold all codes of the account.

    Like a password, a key lets its holder act as the account. All raise ``NotFound`` for an unknown account.
    Changes raise ``Unavailable``, and ``PermissionDenied`` if the account holds a code that the caller lacks.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    notices: Notices

    async def create(
        self,
        caller: Caller,
        user_id: int,
        *,
        name: str,
        scopes: Collection[str] | None,
        expires_in: int | None,
    ) -> MadeKey:
        """Create a key that expires in ``expires_in`` seconds, or never (None).

        ``scopes`` None means all codes of the account. Raises ``ValidationFailed`` for a name or scope, and
        ``Conflict`` for a person's account and for an account with ``MOST`` keys. Raises ``PermissionDenied``
        also for a caller with an API key: otherwise a stolen key could outlive its deletion.
        """
        _check(name, scopes)
        secret = new_secret()
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            check.require_session("create-key")
            user, target = await _target(connection, check, user_id, "create-key")
            if user.kind != "service":
                raise Conflict(sentence("only_services_have_keys"), rule="kind_of_account")
            if len(await store.of_user(connection, user_id)) >= MOST:
                raise Conflict(sentence("too_many_keys", most=MOST), rule="limit")
            stored = await store.add(
                connection,
                target,
                key_name=name,
                hint=secret[:HINT],
                digest=ApiKey(0, secret).digest_of("service"),
                scopes=None if scopes is None else sorted(set(scopes)),
                seconds=expires_in,
                created_by=caller.user_id,
            )
            facts = {"name": name, "account": user.user_name}
            await self.notices.notify(connection, user_id, "api_key_made", acted_by(target), facts)
            # Notify the creator too: a session thief could stay by creating a key.
            await self.notices.notify(connection, caller.user_id, "api_key_made", facts=facts)
            changes = field_changes(key_target(stored), {}, fields_of_key(stored))
            change_log.saving(changes)
        change_log.saved(changes)
        return MadeKey(stored, str(ApiKey(stored.id, secret)))

    async def of_account(self, user_id: int) -> Sequence[StoredKey]:
        """Return the keys of an account, the oldest first, including expired ones."""
        async with self.database.snapshot() as connection:
            await user_list.read(connection, user_id)
            return await store.of_user(connection, user_id)

    async def delete(self, caller: Caller, user_id: int, key_id: int) -> None:
        """Delete a key; the next request with it is refused. Raises ``NotFound`` if there is no such key."""
        async with self.database.transaction() as connection:
            await role_rights.set_pace(connection, "urgent")
            check = await self.delegation.check(connection, caller)
            _user, target = await _target(connection, check, user_id, "delete-key")
            gone = await store.remove(connection, target, key_id)
            if gone is None:
                raise NotFound(sentence("no_such_key"))
            # Removes the epoch of the account, before the commit and again after it.
            await self.revocations.mark_first([user_id])
            changes = field_changes(key_target(gone), fields_of_key(gone), {})
            change_log.saving(changes)
        change_log.saved(changes)
        await self.revocations.mark(user_id)


async def _target(
    connection: Connection, check: DelegationCheck, user_id: int, act: Act
) -> tuple[User, Target]:
    """Return the account whose keys the caller may change."""
    user = await user_list.read(connection, user_id)
    change_log.concerns(change_log.user_target(user.user_name))
    return user, await check.target(connection, user_id, act)


def _check(name: str, scopes: Collection[str] | None) -> None:
    faults = [("name", fault)] if (fault := text_fault(name)) else []
    faults += [
        (f"scopes[{place}]", fault)
        for place, scope in enumerate(scopes or ())
        if (fault := code_fault(scope))
    ]
    if faults:
        raise ValidationFailed(*faults)


def key_target(key: StoredKey) -> str:
    """Return the name of a key in the operation log."""
    return f"key:{key.id}"


def fields_of_key(key: StoredKey) -> dict[str, Any]:
    """Return the logged fields of a key."""
    return {
        "name": key.key_name,
        "scopes": None if key.scopes is None else frozenset(key.scopes),
        "expireTime": None if key.expire_time is None else rfc3339(key.expire_time),
    }
