"""Forgotten passwords: a mailed link, and proof of the second factor if the user has one.

Neither the answer to a request nor its duration reveals anything about the account: the request is stored,
and a job looks up the account.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.events import BEFORE_ACCOUNT_EDIT
from service.authn.password_change import PasswordChange
from service.authn.proving import ClosedPasswords
from service.authn.second_factors import CHALLENGE_LIFE, Answer, SecondFactors
from service.authn.throttle import Throttle
from service.errors import Conflict, LinkInvalid, SecondFactorRequired
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links.links import AccountLinks, Link, digest_of
from service.features.account_links.sentences import sentence
from service.features.account_links.store_tokens import AccountToken
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Caller, Target, owner
from service.kernel.notify import Notices
from service.kernel.text import name_key
from service.records import accounts, origins, user_list
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database

PAUSE: Final = timedelta(minutes=20)
"""Minimum time between links to a user. Requests by strangers thus cannot replace a valid link."""
_PURPOSE: Final = "password_reset"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ForgottenPasswords:
    """Accepts requests for links, sends links for administrators, and sets passwords with links.

    ``request`` and ``start`` raise ``MailNotConfigured`` without mail.
    """

    database: Database
    delegation: Delegation
    links: AccountLinks
    notices: Notices
    passwords: PasswordChange
    throttle: Throttle
    second_factors: SecondFactors
    closed: ClosedPasswords

    async def request(self, user_name: str, address: str) -> None:
        """Record a request for a link by a client at ``address``, whether the user exists or not.

        Raises ``RateLimited`` for the address, and ``Unavailable``.
        """
        self.links.require_mail()
        await self.throttle.reset_from(address)
        async with self.database.transaction() as connection:
            await account_tokens.ask(connection, name_key(user_name), address)

    async def start(self, caller: Caller, user_id: int) -> Link:
        """Mail a link to a user who holds no more rights than the caller; the caller does not see the link.

        Raises ``NotFound``, ``PermissionDenied``, and ``Conflict`` if the user has no password, is disabled
        or banned, or has no confirmed address.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            await check.target(connection, user_id, "start-reset")
            await BEFORE_ACCOUNT_EDIT.emit(connection, user_id, check.directory)
            self.links.require_mail()
            if user.kind == "service" or user.invited:
                raise Conflict(sentence("no_password_to_reset"), rule="has_password")
            if user.status == "disabled" or user.ban is not None:
                raise Conflict(sentence("user_out"), rule="kept_out")
            if await self.closed.includes(connection, user_id):
                raise Conflict(sentence("only_provider_sign_in"), rule="has_password")
            if user.email is None or user.recovery_email is None:
                raise Conflict(sentence("no_confirmed_address"), rule="confirmed_address")
            await self.notices.notify(connection, user_id, "reset_asked", "administrator")
            known = (user_id, user.user_name, user.recovery_email)
            return await self.links.mail(connection, _PURPOSE, *known, created_by=check.acting_id)

    async def options(self, token: str, address: str) -> dict[str, Any]:
        """Return ``methods``, ``expires_in`` and ``public_key`` for the second factor that a link requires.

        ``methods`` is empty for users without a second factor. Raises ``LinkInvalid``, ``RateLimited`` and
        ``Unavailable``.
        """
        await self.throttle.from_address(address)
        async with self.database.transaction() as connection:
            good = await _found(connection, digest_of(token))
            known = await accounts.credentials_of(connection, good.user_id)
        if known is None or not known.second_factor:
            return {"methods": [], "expires_in": CHALLENGE_LIFE, "public_key": None}
        return await self.second_factors.reset_options(known.user_id)

    async def confirm(
        self, token: str, password: str, answer: Answer | None, address: str, user_agent: str
    ) -> None:
        """Set the password of the owner of a link, and end all sessions; bans and factors remain.

        - ``LinkInvalid``: the link is invalid.
        - ``ValidationFailed``: ``password`` breaks the rules.
        - ``SecondFactorRequired``: the user has a factor, and ``answer`` is missing.
        - ``LoginFailed``: the answer is wrong. A link allows ``MOST_WRONG`` attempts.
        - ``Conflict``: the account was changed meanwhile.
        - ``RateLimited`` and ``Unavailable``.
        """
        await self.throttle.from_address(address)
        digest = digest_of(token)
        proved = False

        async def find(connection: Connection) -> Target:
            good = await _found(connection, digest)
            change_log.concerns(change_log.user_target(good.user_name))
            return owner(good.user_id)

        async def prove(known: Credentials) -> None:
            nonlocal proved
            if known.second_factor:
                client = (address, user_agent)
                await self._prove(known, digest, answer, client)
                proved = True

        async def spend(connection: Connection) -> Target:
            spent = await account_tokens.spend(connection, _PURPOSE, digest)
            if spent is None:
                raise LinkInvalid
            known = await accounts.credentials_of(connection, spent.user_id)
            if known is None or (known.second_factor and not proved):
                raise Conflict(sentence("account_changed_meanwhile"), rule="changed_meanwhile")
            if await self.closed.includes(connection, known.user_id):
                raise LinkInvalid  # it was mailed before
            return owner(spent.user_id)

        await self.passwords.by_link(password, find, spend, prove, "link")

    async def _prove(
        self, known: Credentials, digest: bytes, answer: Answer | None, client: tuple[str, str]
    ) -> None:
        """Verify ``answer``; each attempt is first counted, for the link and for the account."""
        if answer is None:
            methods = await self.second_factors.methods(known.user_id)
            raise SecondFactorRequired(sentence("factor_required_for_reset"), methods=methods)
        by_passkey = answer.method == "passkey"
        # Recovery codes count too: a person with access to the mailbox could try them, but hardly guess
        # one.
        attempt = await self.throttle.second_factor(
            known.user_name, *client, guessed=answer.method == "totp", counted=not by_passkey
        )
        async with self.database.transaction() as connection:
            if not await account_tokens.tried(connection, digest):
                raise LinkInvalid
        await self.second_factors.prove_reset(known.user_id, answer)
        await attempt.succeeded()


async def answer_requests(
    database: Database, links: AccountLinks, notices: Notices, closed: ClosedPasswords
) -> Sentence:
    """Mail a link to each eligible user with a stored request; return the number of links as a text.

    Discards requests for unknown names, service accounts, ``closed`` passwords, and accounts managed by a
    directory. Also discards requests of users who are disabled, banned or invited, or have no confirmed
    address. Raises Unavailable.
    """
    mailed = 0
    while True:
        async with database.transaction() as connection:
            requests = await account_tokens.take_requests(connection, 1)
            if not requests:
                return sentence("links_mailed", count=mailed)
            known = await accounts.recoverable(connection, requests[0].user_name_key)
            if known is None or await account_tokens.made_within(connection, _PURPOSE, known.user_id, PAUSE):
                continue
            if await closed.includes(connection, known.user_id):
                continue
            if await origins.manager_of(connection, known.user_id) is not None:
                continue
            await notices.notify(connection, known.user_id, "reset_asked", client_ip=requests[0].client_ip)
            await links.mail(connection, _PURPOSE, known.user_id, known.user_name, known.email)
            mailed += 1


async def _found(connection: Connection, digest: bytes) -> AccountToken:
    good = await account_tokens.find(connection, _PURPOSE, digest)
    if good is None:
        raise LinkInvalid
    return good
