"""The port by which the core notifies users of events on their accounts, and mails them links.

One feature provides both. A notice is written in the transaction of its event, so that neither exists without
the other. Notices cannot be switched off.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias

from service.kernel.feature import sole
from service.kernel.identity import Target

NoticeKind: TypeAlias = Literal[
    "new_device",
    "second_factor_blocked",
    "session_stolen",
    "password_changed",
    "reset_asked",
    "factor_added",
    "factor_removed",
    "identity_linked",
    "identity_unlinked",
    "factors_reset",
    "recovery_codes_made",
    "recovery_code_used",
    "api_key_made",
    "key_expires",
    "key_used_elsewhere",
    "key_leaked",
    "address_changed",
    "address_verified",
    "recovery_changed",
    "address_restored",
    "roles_changed",
    "role_ends",
    "account_dormant",
    "banned",
    "access_request_made",
    "access_request_ended",
    "emergency_given",
    "name_taken",
    "review_opened",
    "review_due",
    "review_closed",
    "policy_signed_off",
    "delegation_made",
    "approval_asked",
]
"""Kinds of notices: a promise to clients, like the codes of refusals."""
BY_ANYBODY: Final[frozenset[NoticeKind]] = frozenset({"key_leaked", "approval_asked"})
"""Kinds caused by requests of strangers and agents: the notice has no client, as it is not the user's."""
ActedBy: TypeAlias = Literal["self", "administrator", "operator"]
"""The actor: the account itself, another user through the API, or the operator at the machine."""
Fact: TypeAlias = str | Collection[str]
Facts = Mapping[str, Fact | datetime | None]
"""Details of a notice, by name; None for an absent value."""
NO_FACTS: Final[Facts] = MappingProxyType({})
NoticeLink: TypeAlias = Literal["end_sessions", "address_undo"]
"""The effect of a notice's link: end all sessions, or restore the address that received the link."""


class Notices(Protocol):
    """Notifies users of events on their accounts: in the product, and by mail if mail is configured.

    ``connection`` and ``database`` are those of ``service.records.database.transactions``.
    """

    async def notify(
        self,
        connection: Any,
        user_id: int,
        kind: NoticeKind,
        by: ActedBy = "self",
        facts: Facts = NO_FACTS,
        *,
        also: str | None = None,
        client_ip: str | None = None,
    ) -> None:
        """Notify a user of ``kind``, with ``facts``; do nothing if the user does not exist.

        A notice of a user's own act names the client of the request. A notice of another user's act does not:
        the operation log shows the actor to its readers. ``client_ip`` is for an act outside of its request.
        ``also`` is a former address of the account, which gets no link.
        """

    async def notify_each(
        self,
        connection: Any,
        user_ids: Collection[int],
        kind: NoticeKind,
        by: ActedBy,
        facts: Facts = NO_FACTS,
    ) -> None:
        """Notify several users of the same ``kind``, with ``facts``."""

    async def of_login(self, database: Any, user_id: int, address: str, user_agent: str) -> None:
        """Notify a user of a login from a new device. Raises ``Unavailable``."""


class Mailer(Protocol):
    """Mails links to users; each mail is written in the transaction of its event."""

    @property
    def enabled(self) -> bool:
        """True if mails are sent."""

    async def mail(
        self,
        connection: Any,
        kind: str,
        recipient: str,
        user_id: int | None,
        *,
        facts: Mapping[str, str | datetime],
        link: str,
    ) -> bool:
        """Write a mail of ``kind``, to be sent once the transaction is committed; False if none are sent.

        ``link`` is kept encrypted. ``user_id`` is the account that the mail is about. Raises KeyError for an
        unknown kind, and for a fact that its words name and that is missing.
        """


def notices_of(settings: Any) -> Notices:
    """Return the notifier for the installation of ``settings``."""
    notices: Notices = sole("notify")(settings)
    return notices


def mailer_of(settings: Any) -> Mailer:
    """Return the mailer of links for the installation of ``settings``."""
    mailer: Mailer = sole("mail")(settings)
    return mailer


def acted_by(target: Target) -> ActedBy:
    """Return the actor on ``target`` through the API."""
    return "self" if target.whom == "self" else "administrator"
