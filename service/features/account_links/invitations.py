"""Invitations: links by which users set their first password."""

from dataclasses import dataclass

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.events import BEFORE_ACCOUNT_EDIT
from service.authn.password_change import PasswordChange
from service.authn.throttle import Throttle
from service.errors import Conflict, LinkInvalid
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links.links import AccountLinks, Link, digest_of
from service.features.account_links.sentences import sentence
from service.kernel.identity import Caller, Target, owner
from service.records import accounts, user_list
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Invitations:
    """Invites users who hold no more rights than the caller, and sets their first passwords."""

    database: Database
    delegation: Delegation
    links: AccountLinks
    passwords: PasswordChange
    throttle: Throttle

    async def invite(self, caller: Caller, user_id: int) -> Link:
        """Return an invitation link, mailed if mail is configured; the former invitation expires.

        Raises ``NotFound``, ``PermissionDenied`` if the user holds a code that the caller lacks, and
        ``Unavailable``. Raises ``Conflict`` for a user with a password, for a service account, and without an
        address to mail to.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            await check.target(connection, user_id, "invite")
            await BEFORE_ACCOUNT_EDIT.emit(connection, user_id, check.directory)
            if not user.invited:
                raise Conflict(sentence("only_without_password"), rule="has_password")
            by = {"created_by": check.acting_id}
            if not self.links.by_mail:
                # The caller sees the link. For the creator of the account this equals setting the first
                # password.
                own = check.acting_id == await accounts.maker(connection, user_id)
                await check.take_over(connection, [user_id], "made" if own else "link")
                return await self.links.make(connection, "invitation", user_id, email=None, **by)
            if user.email is None:
                raise Conflict(sentence("no_address_for_invitation"), rule="confirmed_address")
            return await self.links.mail(connection, "invitation", user_id, user.user_name, user.email, **by)

    async def accept(self, token: str, password: str, address: str) -> None:
        """Set the first password of the user to whom ``token`` was sent, for a client at ``address``.

        This confirms the address to which the invitation was mailed. Raises ``LinkInvalid``,
        ``ValidationFailed`` for ``password``, ``RateLimited`` and ``Unavailable``.
        """
        await self.throttle.from_address(address)
        digest = digest_of(token)

        async def find(connection: Connection) -> Target:
            good = await account_tokens.find(connection, "invitation", digest)
            if good is None:
                raise LinkInvalid
            change_log.concerns(change_log.user_target(good.user_name))
            return owner(good.user_id)

        async def spend(connection: Connection) -> Target:
            spent = await account_tokens.spend(connection, "invitation", digest)
            if spent is None:
                raise LinkInvalid
            if spent.email is not None:
                # Setting the first password with a mailed link counts as agreement to the address.
                await accounts.confirm_address(connection, spent.user_id, spent.email)
            return owner(spent.user_id)

        await self.passwords.by_link(password, find, spend, _nothing_more, "invitation")


async def _nothing_more(_known: Credentials) -> None:
    """Require no proof except the link: the user has no other credentials yet."""
