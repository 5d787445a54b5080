"""Recovery addresses: an address needs the owner's agreement and a link opened at the address.

Until then the former address remains the recovery address. The former address can undo a change for a day.
"""

from dataclasses import dataclass
from typing import Final

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.own_credentials import require_credentials
from service.administration.user_edits import AddressChanged
from service.authn.login_log import LoginLog
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.authn.throttle import Throttle
from service.errors import Conflict, LinkInvalid, RateLimited, RefreshRequired
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links import store_undos as address_undos
from service.features.account_links.links import AccountLinks, digest_of, links_of
from service.features.account_links.sentences import sentence
from service.kernel.identity import Caller, oneself, owner
from service.kernel.notify import ActedBy, Notices, mailer_of
from service.kernel.origin import FieldChange, field_changes
from service.records import accounts, user_list
from service.records.database.transactions import Connection, Database
from service.records.user_list import User
from service.settings import Settings

_NO_ADDRESS: Final = sentence("no_address")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NewAddresses:
    """Mails a link to each new address of a user."""

    links: AccountLinks
    throttle: Throttle

    async def follow(self, connection: Connection, before: User | None, after: User, by: int | None) -> None:
        """Mail a link to a person's new address, in the transaction in which ``by`` sets the address.

        The link proves that the address is reachable; the owner's agreement is recorded separately. The
        invitation confirms the address of an invited user. If a user has reached the limit of mailed links,
        no link is sent, and the user can request one later.
        """
        former = None if before is None else before.email
        if not self.links.by_mail or after.kind == "service" or after.email == former:
            return
        about = (after.id, after.user_name)
        if after.email is None or after.email_verified or after.invited:
            return
        try:
            await self.throttle.link_for(str(after.id))
        except RateLimited:
            return
        await self.links.mail(connection, "address", *about, after.email, created_by=by)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Addresses:
    """Mails links that confirm addresses, accepts them, and lets administrators confirm without a link.

    All methods raise ``Unavailable``.
    """

    database: Database
    delegation: Delegation
    links: AccountLinks
    throttle: Throttle
    notices: Notices
    revocations: Revocations
    log: LoginLog

    async def ask(self, caller: Caller) -> None:
        """Mail the caller a link that confirms the caller's address.

        Raises ``Conflict`` if the caller has no address or is a service account, ``MailNotConfigured`` and
        ``RateLimited``.
        """
        self.links.require_mail()
        async with self.database.transaction() as connection:
            user = await _own(connection, caller)
            await self.throttle.link_for(str(user.id))
            await self.links.mail(connection, "address", user.id, user.user_name, str(user.email))

    async def confirm(self, token: str, address: str) -> None:
        """Record that a link was opened at a user's address, by a client at ``address``.

        With the owner's agreement, the address becomes the recovery address. Raises ``RateLimited``, and
        ``LinkInvalid``, also if the user's address has changed.
        """
        await self.throttle.from_address(address)
        async with self.database.transaction() as connection:
            spent = await account_tokens.spend(connection, "address", digest_of(token))
            if spent is None or spent.email is None:
                raise LinkInvalid
            user = await user_list.read(connection, spent.user_id)
            if user.email_agreed:
                await self._moving(connection, user, spent.email)
            await accounts.reach_address(connection, user.id, spent.email)
            changes = await _saving(connection, user)
        change_log.saved(changes)

    async def agree(self, caller: Caller, email: str) -> None:
        """Record the caller's agreement to the caller's address ``email``, which others can have set.

        Once a link was opened there, the address becomes the recovery address. Raises ``Conflict`` if the
        address has changed or the caller is a service account, ``PermissionDenied`` and
        ``InsufficientAuthentication``.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.of_own_account(connection, caller)
            user = await _own(connection, caller)
            await require_credentials(connection, check, oneself(caller))
            if user.email_reached:
                await self._moving(connection, user, email)
            if not await accounts.agree_to_address(connection, user.id, email):
                raise Conflict(sentence("address_changed_meanwhile"), rule="changed_meanwhile")
            changes = await _saving(connection, user)
        change_log.saved(changes)

    async def undo(self, token: str, address: str) -> None:
        """Restore the former address with a link that was mailed there, and end all sessions of the account.

        ``address`` is that of the client. If a directory manages the account, only the recovery address is
        restored. Raises ``LinkInvalid`` and ``RateLimited``.
        """
        await self.throttle.from_address(address)
        async with self.database.transaction() as connection:
            spent = await address_undos.spend(connection, digest_of(token))
            if spent is None:
                raise LinkInvalid
            user = await user_list.read(connection, spent.user_id)
            await accounts.bring_back_address(
                connection, user.id, spent.email, recovery_only=user.directory is not None
            )
            await self.notices.notify(connection, user.id, "address_restored", facts={"email": spent.email})
            changes = await _saving(connection, user)
            await ALL_SESSIONS_END.emit(connection, user.id)
            await self.revocations.end_sessions_first(owner(user.id))
        change_log.saved(changes)
        await self.revocations.end_sessions(owner(user.id))
        self.log.own("logout_all", user.id, user.user_name, None, reason="link")

    async def verify(self, caller: Caller, user_id: int) -> None:
        """Confirm the address of a user who holds no more rights than the caller, and notify the user.

        Raises ``NotFound``, ``PermissionDenied``, and ``Conflict`` for a service account or without an
        address.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            await check.target(connection, user_id, "verify-address")
            if user.kind == "service":
                raise Conflict(sentence("service_without_address"), rule="kind_of_account")
            if user.email is None:
                raise Conflict(_NO_ADDRESS, rule="confirmed_address")
            if user.email_verified:
                return
            await self._moving(connection, user, user.email, "administrator")
            await accounts.confirm_address(connection, user.id, user.email)
            facts = {"email": user.email}
            await self.notices.notify(connection, user_id, "address_verified", "administrator", facts)
            changes = await _saving(connection, user)
        change_log.saved(changes)

    async def _moving(self, connection: Connection, user: User, email: str, by: ActedBy = "self") -> None:
        """Notify the recovery address that ``email`` replaces it, with a link to undo the change."""
        if user.recovery_email not in (None, email):
            await self.notices.notify(connection, user.id, "recovery_changed", by, {"email": email})


def address_changed(settings: Settings, throttle: Throttle) -> AddressChanged:
    """Return the handler of new addresses, which mails links."""
    return NewAddresses(links_of(settings, mailer_of(settings)), throttle).follow


async def _own(connection: Connection, caller: Caller) -> User:
    """Return the caller's account; raises ``Conflict`` without an address and for service accounts."""
    users = await user_list.read_all(connection, [caller.user_id])
    if not users:  # deleted while the token was valid
        raise RefreshRequired
    [user] = users
    if user.kind == "service":
        raise Conflict(sentence("service_without_address"), rule="kind_of_account")
    if user.email is None:
        raise Conflict(_NO_ADDRESS, rule="confirmed_address")
    return user


async def _saving(connection: Connection, before: User) -> list[FieldChange]:
    """Return the changes of a user's addresses, after announcing them to the operation log."""
    after = await user_list.read(connection, before.id)
    fields = [{"email": user.email, "recoveryEmail": user.recovery_email} for user in (before, after)]
    target = change_log.user_target(before.user_name)
    change_log.concerns(target)
    changes = field_changes(target, *fields)
    change_log.saving(changes)
    return changes
