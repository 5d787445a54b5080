"""Creation, listing and deletion of people's own API keys, and the report of leaked keys."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.older_nodes import require_known
from service.authn.revocations import Revocations
from service.authn.sessions import live_session
from service.authn.throttle import Throttle
from service.authz.engine.rules import ACCOUNT
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.personal_keys import store
from service.features.personal_keys.sentences import sentence
from service.features.personal_keys.uses import network_of
from service.features.service_accounts import store as stored_keys
from service.features.service_accounts.form import HINT, ApiKey, new_secret, parsed
from service.features.service_accounts.keys import MOST, MadeKey, fields_of_key, key_target
from service.features.service_accounts.sentences import sentence as key_sentence
from service.features.service_accounts.store import StoredKey
from service.kernel.account_acts import refusal_of
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Caller, oneself, use_of_key
from service.kernel.notify import Notices
from service.kernel.origin import field_changes
from service.kernel.text import text_fault
from service.kernel.value_rules import code_fault
from service.keyspace import SessionStore
from service.records import role_rights
from service.records.database.transactions import Database
from service.records.published.policy_workers import PERSONAL_KEYS

_log = structlog.get_logger(__name__)
ACT: Final = "create-personal-key"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonalKeys:
    """The keys of the caller's own account, which only the caller makes. ``longest`` is in seconds.

    A key gives no right by itself: the policy decides each question about the person's codes and about the
    scopes of the key.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    notices: Notices
    sessions: SessionStore
    longest: int

    async def create(
        self, caller: Caller, *, name: str, scopes: Collection[str], expires_in: int, address: str
    ) -> MadeKey:
        """Create a key that expires in ``expires_in`` seconds.

        Raises ``ValidationFailed`` for a name, a scope or an expiry. Raises ``Conflict`` for a service
        account, for an account with ``MOST`` keys, and beside a node of an older version. Raises
        ``PermissionDenied`` for a caller with an API key or with a role that allows none, and
        ``InsufficientAuthentication`` without two factors of the last minutes, if the caller has them.
        Raises ``RefreshRequired`` if the caller's session has ended meanwhile, and ``Unavailable``.
        """
        self._check(name, scopes, expires_in)
        secret = new_secret()
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            if caller.kind != "person":
                raise Conflict(sentence("services_make_no_keys"), rule="kind_of_account")
            target = oneself(caller)
            await check.require_act(connection, target, ACT)
            rights = await role_rights.of(connection, caller.user_id)
            use = use_of_key(barred=rights.keys_barred)
            check.require_object(check.policy, ACCOUNT, use, refusal_of(use))
            await require_known(connection, PERSONAL_KEYS)
            await check.require_factors(connection, "create-personal-key-beside-factor")
            await live_session(self.sessions, caller)
            change_log.concerns(change_log.user_target(caller.user_name))
            if len(await stored_keys.of_user(connection, caller.user_id)) >= MOST:
                raise Conflict(key_sentence("too_many_keys", most=MOST), rule="limit")
            stored = await stored_keys.add(
                connection,
                target,
                key_name=name,
                hint=secret[:HINT],
                digest=ApiKey(0, secret).digest_of("person"),
                scopes=sorted(set(scopes)),
                seconds=expires_in,
                created_by=caller.user_id,
                network=network_of(address),
                needed_codes=(),
            )
            facts = {"name": name, "account": caller.user_name}
            await self.notices.notify(connection, caller.user_id, "api_key_made", facts=facts)
            changes = field_changes(key_target(stored), {}, fields_of_key(stored))
            change_log.saving(changes)
        change_log.saved(changes)
        return MadeKey(stored, str(ApiKey(stored.id, secret)))

    async def own(self, caller: Caller) -> tuple[Sequence[StoredKey], bool]:
        """Return the keys of the caller, the oldest first, expired ones too; and True if roles allow keys."""
        async with self.database.snapshot() as connection:
            rights = await role_rights.of(connection, caller.user_id)
            return await stored_keys.of_user(connection, caller.user_id), not rights.keys_barred

    async def delete(self, caller: Caller, key_id: int) -> None:
        """Delete a key of the caller; the next request with it is refused. Raises ``NotFound``."""
        async with self.database.transaction() as connection:
            await role_rights.set_pace(connection, "urgent")
            check = await self.delegation.check(connection, caller)
            target = oneself(caller)
            await check.require_act(connection, target, "delete-key")
            change_log.concerns(change_log.user_target(caller.user_name))
            gone = await stored_keys.remove(connection, target, key_id)
            if gone is None:
                raise NotFound(sentence("no_own_key"))
            await self.revocations.mark_first([caller.user_id])
            changes = field_changes(key_target(gone), fields_of_key(gone), {})
            change_log.saving(changes)
        change_log.saved(changes)
        await self.revocations.mark(caller.user_id)

    def _check(self, name: str, scopes: Collection[str], expires_in: int) -> None:
        faults = [("name", fault)] if (fault := text_fault(name)) else []
        faults += [
            (f"scopes[{place}]", fault)
            for place, scope in enumerate(scopes)
            if (fault := code_fault(scope) or _scope_fault(scope))
        ]
        if not scopes:
            faults.append(("scopes", sentence("scopes_needed")))
        if expires_in > self.longest:
            faults.append(("expiresIn", sentence("key_lasts_too_long", most=self.longest)))
        if faults:
            raise ValidationFailed(*faults)


def _scope_fault(scope: str) -> Sentence | None:
    """Return the fault of a scope that would stand for all permissions; None for another scope."""
    if scope.partition(":")[0] == "*":
        return sentence("scope_of_everything")
    return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LeakedKeys:
    """Revokes keys that were reported as leaked."""

    database: Database
    revocations: Revocations
    notices: Notices
    throttle: Throttle

    async def revoke(self, text: str, address: str) -> None:
        """Delete the API key ``text``, and notify its owner; ``address`` is that of the reporter.

        For an unknown key it does nothing, without a difference in the answer. Raises ``ValidationFailed``
        for a text that is no API key, ``RateLimited`` and ``Unavailable``.
        """
        await self.throttle.from_address(address)
        key = parsed(text)
        if key is None:
            raise ValidationFailed(("key", sentence("not_an_api_key")))
        async with self.database.transaction() as connection:
            await role_rights.set_pace(connection, "urgent")
            lost = await store.lose(
                connection, key.key_id, [key.digest_of("person"), key.digest_of("service")]
            )
            if lost is None:
                return
            change_log.concerns(change_log.user_target(lost.user_name))
            owner = lost.user_id if lost.kind == "person" else lost.created_by
            facts = {"name": lost.key_name, "account": lost.user_name}
            await self.notices.notify(connection, owner, "key_leaked", facts=facts)
            await self.revocations.mark_first([lost.user_id])
            changes = field_changes(f"key:{lost.key_id}", {"name": lost.key_name}, {})
            change_log.saving(changes)
        change_log.saved(changes)
        await self.revocations.mark(lost.user_id)
        _log.warning("a leaked API key was revoked", event_type="security", key_id=lost.key_id)
