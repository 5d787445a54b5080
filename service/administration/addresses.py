"""Addresses: their owners confirm them by a link, and until then the one before stays that for recovery."""

from collections.abc import Awaitable, Callable
from typing import Final

from service.administration import change_log
from service.administration.account_links import AccountLinks, digest_of
from service.administration.delegation import Delegation
from service.authn.throttle import Throttle
from service.errors import Conflict, LinkInvalid, RateLimited, RefreshRequired
from service.kernel.identity import Caller
from service.kernel.origin import FieldChange, field_changes
from service.mail.notices import Notices
from service.records import account_tokens, accounts, user_list
from service.records.database.transactions import Connection, Database
from service.records.user_list import User

AddressChanged = Callable[[Connection, User | None, User, int | None], Awaitable[None]]
"""Is told of each user before and after an edit, and of each new one, in its transaction; and by whom."""
_NO_ADDRESS: Final = "There is no email address to confirm"


class Addresses:
    """Mails links that confirm addresses, takes them back, and lets administrators do without.

    All raise ``Unavailable``.
    """

    def __init__(
        self,
        *,
        database: Database,
        delegation: Delegation,
        links: AccountLinks,
        throttle: Throttle,
        notices: Notices,
    ) -> None:
        self._database = database
        self._delegation = delegation
        self._links = links
        self._throttle = throttle
        self._notices = notices

    async def changed(self, connection: Connection, before: User | None, after: User, by: int | None) -> None:
        """Mail a link to the new address of a person, in the transaction in which ``by`` sets it.

        That of somebody invited is confirmed by the invitation. A user for whom too many links were mailed
        gets none, and can ask for one later.
        """
        former = None if before is None else before.email
        if not self._links.by_mail or after.kind == "service" or after.email == former:
            return
        about = (after.id, after.user_name)
        if after.email is None or after.email_verified or after.invited:
            return
        try:
            await self._throttle.link_for(str(after.id))
        except RateLimited:
            return
        await self._links.mail(connection, "address", *about, after.email, created_by=by)

    async def ask(self, caller: Caller) -> None:
        """Mail the caller a link to confirm the own address.

        Raises ``Conflict`` without one, and for a service account, ``MailNotConfigured`` and ``RateLimited``.
        """
        self._links.require_mail()
        async with self._database.transaction() as connection:
            users = await user_list.read_all(connection, [caller.user_id])
            if not users:  # deleted while the token was valid
                raise RefreshRequired
            [user] = users
            if user.kind == "service":
                raise Conflict("A service account has no address to confirm", rule="kind_of_account")
            if user.email is None:
                raise Conflict(_NO_ADDRESS, rule="confirmed_address")
            await self._throttle.link_for(str(user.id))
            await self._links.mail(connection, "address", user.id, user.user_name, user.email)

    async def confirm(self, token: str, address: str) -> None:
        """Make the address that a link was mailed to that for recovery; the client is at ``address``.

        Raises ``LinkInvalid``, also if it is not the user's any more, and ``RateLimited``.
        """
        await self._throttle.from_address(address)
        async with self._database.transaction() as connection:
            spent = await account_tokens.spend(connection, "address", digest_of(token))
            if spent is None or spent.email is None:
                raise LinkInvalid
            user = await user_list.read(connection, spent.user_id)
            changes = await _confirmed(connection, user, spent.email)
            change_log.saving(changes)
        change_log.saved(changes)

    async def verify(self, caller: Caller, user_id: int) -> None:
        """Declare the address of a user confirmed who holds no more than the caller, and tell that user.

        Raises ``NotFound``, ``PermissionDenied`` and ``Conflict`` without an address.
        """
        async with self._database.transaction() as connection:
            check = await self._delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            await check.target(connection, user_id, "verify-address")
            if user.kind == "service":
                raise Conflict("A service account has no address to confirm", rule="kind_of_account")
            if user.email is None:
                raise Conflict(_NO_ADDRESS, rule="confirmed_address")
            if user.email_verified:
                return
            changes = await _confirmed(connection, user, user.email)
            facts, also = {"email": user.email}, user.recovery_email
            await self._notices.tell(
                connection, user_id, "address_verified", "administrator", facts, also=also
            )
            change_log.saving(changes)
        change_log.saved(changes)


async def _confirmed(connection: Connection, user: User, email: str) -> list[FieldChange]:
    await accounts.confirm_address(connection, user.id, email)
    target = change_log.user_target(user.user_name)
    return field_changes(target, {"recoveryEmail": user.recovery_email}, {"recoveryEmail": email})
