"""The port by which the core tells users what happens to their accounts, and mails them links.

One feature provides both. What is told is written in the transaction of what it is about, so that neither is
there without the other. Nobody can switch that off.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias

from service.kernel.feature import provided
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
]
"""What somebody is told: a promise to clients, as the codes of refusals are."""
ActedBy: TypeAlias = Literal["self", "administrator", "operator"]
"""Who has done it: with the account itself, for others through the API, or at the machine."""
Fact: TypeAlias = str | Collection[str]
Facts = Mapping[str, Fact | datetime | None]
"""What is told beside the kind, by name; None for what there is not."""
NO_FACTS: Final[Facts] = MappingProxyType({})
NoticeLink: TypeAlias = Literal["end_sessions", "address_undo"]
"""What the link of a notice does: it ends all sessions, or brings back the address to which it was mailed."""


class Notices(Protocol):
    """Tells users what happens to their accounts: in the product, and by mail where mails are sent.

    ``connection`` and ``database`` are those of ``service.records.database.transactions``.
    """

    async def tell(
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
        """Tell a user of ``kind``, with ``facts``; nobody if there is no such user.

        A user's own act is told with the client of the request, that of another one without: who it was, the
        operation log tells its readers. ``client_ip`` is for an act outside of its request. ``also`` is an
        address that the account had: it gets no link.
        """

    async def tell_each(
        self,
        connection: Any,
        user_ids: Collection[int],
        kind: NoticeKind,
        by: ActedBy,
        facts: Facts = NO_FACTS,
    ) -> None:
        """Tell several users of the same: ``kind`` with ``facts``."""

    async def of_login(self, database: Any, user_id: int, address: str, user_agent: str) -> None:
        """Tell a user of a login from a device that is new to the account. Raises ``Unavailable``."""


class Mailer(Protocol):
    """Mails links to users; each mail is written in the transaction of what it is about."""

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
    """Return what tells users of their accounts in the installation of ``settings``."""
    (make,) = provided("notify").values()
    notices: Notices = make(settings)
    return notices


def mailer_of(settings: Any) -> Mailer:
    """Return what mails links in the installation of ``settings``."""
    (make,) = provided("mail").values()
    mailer: Mailer = make(settings)
    return mailer


def acted_by(target: Target) -> ActedBy:
    """Return who acts on ``target`` through the API."""
    return "self" if target.whom == "self" else "administrator"
