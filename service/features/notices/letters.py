"""The texts of all mails: for each kind a subject and paragraphs, with facts in braces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Formatter
from typing import Final, NamedTuple

from service.kernel.notify import NoticeLink
from service.kernel.text import printable

_LONGEST_FACT: Final = 200  # characters
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)
_SIGNED: Final = "This mail was sent by {site}. Replies are not read."


class Words(NamedTuple):
    """The text of a kind of mail. A mail without a link omits the paragraphs that name ``{link}``.

    ``link`` is the action of the link in a notice.
    """

    subject: str
    paragraphs: tuple[str, ...]
    needs_link: bool = False
    link: NoticeLink = "end_sessions"


def _notice(subject: str, what: str) -> Words:
    """Return the text of a notice about an account: event, time, place, and the user's next steps."""
    return Words(
        subject,
        (
            what,
            "It happened on {time}, {where}.",
            (
                "If this was not you, end all sessions with this link. It works once, until "
                "{link_until}:\n{link}"
            ),
            "Then set a new password, and inform an administrator.",
        ),
    )


def _moved(subject: str, what: str) -> Words:
    """Return the text of a notice to the former address, whose link can undo the change."""
    return Words(
        subject,
        (
            what,
            "It happened on {time}, {where}.",
            (
                "If this was not you, undo the change with this link. It works once, until "
                "{link_until}:\n{link}"
            ),
            "This restores the address of your account and ends all sessions.",
            "Then request a password reset link, and inform an administrator.",
        ),
        link="address_undo",
    )


_ACCOUNT: Final = "the account {user_name} at {site}"

WORDS: Final[Mapping[str, Words]] = {
    "invitation": Words(
        "Your new account",
        (
            "An account was created for you at {site}. Your user name is {user_name}.",
            "Open this page to choose your password. The link works once, until {until}:",
            "{link}",
            (
                "If you do not expect an account, ignore this mail. The account cannot be used before a "
                "password is set."
            ),
        ),
        needs_link=True,
    ),
    "password_reset": Words(
        "Choose a new password",
        (
            "A password reset was requested for the account {user_name} at {site}.",
            "If it was you, open this page to choose a new password. The link works once, until {until}:",
            "{link}",
            "If it was not you, ignore this mail; your password does not change. Do not share the link.",
        ),
        needs_link=True,
    ),
    "address_confirmation": Words(
        "Confirm your email address",
        (
            "This email address was entered for the account {user_name} at {site}.",
            "Open this page to confirm it. The link works once, until {until}:",
            "{link}",
            "If you do not know the account, ignore this mail; the account does not get your address.",
        ),
        needs_link=True,
    ),
    "new_device": _notice(
        "A login from a new device",
        f"{_ACCOUNT.capitalize()} was used to log in from a new device or location.",
    ),
    "second_factor_blocked": _notice(
        "Wrong second factors",
        f"Someone who knows the password of {_ACCOUNT} entered too many wrong second factors.",
    ),
    "session_stolen": _notice(
        "A session was ended",
        f"A refresh token of {_ACCOUNT} was used twice, so it may have been stolen. The session on the "
        "device {device} was ended.",
    ),
    "password_changed": _notice("Your password was set", f"A new password was set for {_ACCOUNT}."),
    "factor_added": _notice(
        "A second factor was added", f"A second factor was added to {_ACCOUNT}: {{factor}}, named {{name}}."
    ),
    "factor_removed": _notice(
        "A second factor was removed",
        f"A second factor was removed from {_ACCOUNT}: {{factor}}, named {{name}}.",
    ),
    "identity_linked": _notice(
        "An account of a provider was linked",
        f"An account of the provider {{name}} was linked to {_ACCOUNT}. It can now be used to sign in.",
    ),
    "identity_unlinked": _notice(
        "An account of a provider was unlinked",
        f"An account of the provider {{name}} was unlinked from {_ACCOUNT}. It can no longer be used to "
        "sign in.",
    ),
    "factors_reset": _notice(
        "Your second factors were removed", f"All second factors of {_ACCOUNT} were removed."
    ),
    "recovery_codes_made": _notice(
        "New recovery codes",
        f"New recovery codes were created for {_ACCOUNT}. The previous codes no longer work.",
    ),
    "recovery_code_used": _notice("A recovery code was used", f"A recovery code of {_ACCOUNT} was used."),
    "api_key_made": _notice(
        "An API key was created", "An API key named {name} was created for the account {account} at {site}."
    ),
    "address_changed": _moved(
        "Your email address was changed",
        f"The email address of {_ACCOUNT} was changed. This mail was sent to the previous address.",
    ),
    "recovery_changed": _moved(
        "Your address for password resets was changed",
        f"Password reset links of {_ACCOUNT} are now sent to another address. This mail was sent to the "
        "previous address.",
    ),
    "address_restored": _notice(
        "Your email address was restored",
        f"A change of the email address of {_ACCOUNT} was undone with a link in a mail to this address.",
    ),
    "address_verified": _notice(
        "Your email address was marked as verified",
        f"The email address of {_ACCOUNT} was marked as verified. It can be used for password resets.",
    ),
    "roles_changed": _notice(
        "Your roles were changed",
        f"Roles of {_ACCOUNT} were changed. Assigned: {{givenRoles}}. Revoked: {{takenRoles}}. Changed "
        "period: {changedRoles}.",
    ),
    "role_ends": Words(
        "One of your roles expires soon",
        (
            f"The role {{role}} of {_ACCOUNT} expires on {{until}}.",
            "If you need it for longer, ask an administrator before then.",
        ),
    ),
    "account_dormant": Words(
        "Your account will be disabled",
        (
            f"{_ACCOUNT.capitalize()} has not been used for a long time. It will be disabled on {{until}}.",
            "If you still need it, log in before then. Otherwise, you do not need to do anything.",
        ),
    ),
    "banned": _notice("Your account is banned", f"{_ACCOUNT.capitalize()} is banned until {{until}}."),
    "access_request_made": Words(
        "A role was requested",
        (
            "{account} requested the role {role} at {site}.",
            "You can decide about it: log in and open the access request {request}.",
        ),
    ),
    "access_request_ended": Words(
        "Your role request is closed",
        (f"The request {{request}} of {_ACCOUNT} for the role {{role}} is closed: {{state}}.",),
    ),
    "emergency_given": Words(
        "A role was granted in an emergency",
        (
            "{account} got the role {role} at {site} in an emergency, without approval, until {until}.",
            "Review its use, and close the access request {request} with a reason.",
        ),
    ),
    "name_taken": Words(
        "A user name of a provider is already in use",
        (
            (
                "A person signed in at {site} with the provider {name} as {account}, but this user name is "
                "already in use."
            ),
            "The new account is {made}.",
            "If both accounts belong to the same person, hand the account {account} over to the provider.",
        ),
    ),
    "test": Words(
        "Test mail",
        ("An operator of {site} sent this mail to test mail delivery. It works.",),
    ),
}
"""The kinds. ``{site}`` is the address of the service, ``{link}`` the link; the other names are facts."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to a recipient: ``user_id`` is the account that it is about, if there is one.

    ``facts`` has a text or a time for each name in the words of its ``kind``. Raises ``KeyError`` for an
    unknown kind and for a missing fact.
    """

    kind: str
    recipient: str
    user_id: int | None
    facts: Mapping[str, str | datetime]

    def __post_init__(self) -> None:
        if missing := sorted(_names(self.kind) - self.facts.keys() - {"site", "link"}):
            raise KeyError(f"a mail of the kind {self.kind} needs {', '.join(missing)}")

    def shown_facts(self) -> dict[str, str]:
        """Return the facts as the mail shows them: each on one line, of limited length, without links."""
        return {name: _shown(fact) for name, fact in self.facts.items()}


def text_of(kind: str, facts: Mapping[str, str], site: str, link: str | None) -> tuple[str, str]:
    """Return the subject and the text of a mail, from shown ``facts``. KeyError for an unknown kind."""
    words = WORDS[kind]
    paragraphs = [part for part in (*words.paragraphs, _SIGNED) if link is not None or "{link}" not in part]
    known = {**facts, "site": site, "link": link}
    return words.subject, "\n\n".join(part.format_map(known) for part in paragraphs) + "\n"


def has_link(kind: str) -> bool:
    """Return whether the text of a kind contains a link."""
    return "link" in _names(kind)


def link_of(kind: str) -> NoticeLink:
    """Return the action of the link in a notice of a kind."""
    return WORDS[kind].link


def _names(kind: str) -> set[str]:
    return {name for part in WORDS[kind].paragraphs for _, name, _, _ in Formatter().parse(part) if name}


def _shown(fact: str | datetime) -> str:
    if isinstance(fact, datetime):
        return f"{fact.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    # Mail programs turn such texts into links; a chosen name must not set the target of a link.
    return _WEB.sub(r"\1 .", printable(fact)[:_LONGEST_FACT].replace("://", ":/ /"))
