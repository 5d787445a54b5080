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
_SIGNED: Final = "This mail was sent by {site}. Nobody reads answers to it."


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
            "It was on {time}, {where}.",
            "If you did not expect it, end all sessions here, once until {link_until}:\n{link}",
            "Then choose another password, and tell an administrator.",
        ),
    )


def _moved(subject: str, what: str) -> Words:
    """Return the text of a notice to the former address, whose link can undo the change."""
    return Words(
        subject,
        (
            what,
            "It was on {time}, {where}.",
            "If you did not expect it, undo it here, once until {link_until}:\n{link}",
            "Your account has this address again then, and all sessions end.",
            "After that, ask for a link for a forgotten password, and tell an administrator.",
        ),
        link="address_undo",
    )


_ACCOUNT: Final = "the account {user_name} at {site}"

WORDS: Final[Mapping[str, Words]] = {
    "invitation": Words(
        "Your new account",
        (
            "An account was made for you at {site}. Your user name is {user_name}.",
            "Open this page to choose your password. The link works once, until {until}:",
            "{link}",
            "If you don't expect an account, do nothing: nobody can log in with it before.",
        ),
        needs_link=True,
    ),
    "password_reset": Words(
        "Choose a new password",
        (
            "Somebody has asked for a new password of the account {user_name} at {site}.",
            "If it was you, open this page to choose one. The link works once, until {until}:",
            "{link}",
            "If it was not you, do nothing: your password stays as it is. Give the link to nobody.",
        ),
        needs_link=True,
    ),
    "address_confirmation": Words(
        "Confirm your email address",
        (
            "The account {user_name} at {site} is to have this email address.",
            "Open this page to confirm it. The link works once, until {until}:",
            "{link}",
            "If you don't know the account, do nothing: it does not get your address.",
        ),
        needs_link=True,
    ),
    "new_device": _notice(
        "A login from a new device",
        f"Somebody has logged in to {_ACCOUNT}, from a new device or place.",
    ),
    "second_factor_blocked": _notice(
        "Wrong second factors",
        f"Somebody who knows the password of {_ACCOUNT} has tried too many wrong second factors.",
    ),
    "session_stolen": _notice(
        "A session was ended",
        f"A refresh token of {_ACCOUNT} was used twice, as happens when somebody has copied it. "
        "The session on the device {device} was ended.",
    ),
    "password_changed": _notice("Your password was set", f"A new password was set for {_ACCOUNT}."),
    "factor_added": _notice(
        "A second factor was added", f"A second factor was added to {_ACCOUNT}: {{factor}}, named {{name}}."
    ),
    "factor_removed": _notice(
        "A second factor was removed",
        f"{_ACCOUNT.capitalize()} has lost a second factor: {{factor}}, named {{name}}.",
    ),
    "identity_linked": _notice(
        "An account of a provider was linked",
        f"An account of the provider {{name}} was linked with {_ACCOUNT}: it can sign in from now on.",
    ),
    "identity_unlinked": _notice(
        "An account of a provider was unlinked",
        f"An account of the provider {{name}} was unlinked from {_ACCOUNT}: it can't sign in any more.",
    ),
    "factors_reset": _notice(
        "Your second factors were removed", f"All second factors of {_ACCOUNT} were removed."
    ),
    "recovery_codes_made": _notice(
        "New recovery codes", f"New recovery codes were made for {_ACCOUNT}. Those before work no longer."
    ),
    "recovery_code_used": _notice("A recovery code was used", f"A recovery code of {_ACCOUNT} was used."),
    "api_key_made": _notice(
        "An API key was made", "An API key named {name} was made for the account {account} at {site}."
    ),
    "address_changed": _moved(
        "Your email address was changed",
        f"{_ACCOUNT.capitalize()} has another email address now. This mail goes to the one before.",
    ),
    "recovery_changed": _moved(
        "Another address is for forgotten passwords",
        f"Links for a forgotten password of {_ACCOUNT} go to another address from now on. "
        "This mail goes to the one before.",
    ),
    "address_restored": _notice(
        "Your email address is as before",
        f"A change of the email address of {_ACCOUNT} was undone by the link in a mail to this address.",
    ),
    "address_verified": _notice(
        "Your email address was declared verified",
        f"The email address of {_ACCOUNT} was declared verified, and passwords may be reset by it.",
    ),
    "roles_changed": _notice(
        "Your roles were changed",
        f"Roles of {_ACCOUNT} were changed. Given: {{givenRoles}}. Taken away: {{takenRoles}}. "
        "Other times: {changedRoles}.",
    ),
    "role_ends": Words(
        "A role of yours ends soon",
        (
            f"The role {{role}} of {_ACCOUNT} ends on {{until}}.",
            "Do you need it for longer? Ask an administrator before that.",
        ),
    ),
    "account_dormant": Words(
        "Your account will be disabled",
        (
            f"{_ACCOUNT.capitalize()} was not used for a long time. It is disabled on {{until}}.",
            "Do you still need it? Log in once before that. Else there is nothing to do.",
        ),
    ),
    "banned": _notice("Your account is banned", f"{_ACCOUNT.capitalize()} is banned until {{until}}."),
    "access_request_made": Words(
        "Somebody asks for a role",
        (
            "{account} asks for the role {role} at {site}.",
            "You may decide about it: log in, and look at the access request {request}.",
        ),
    ),
    "access_request_ended": Words(
        "Your request for a role has ended",
        (f"The request {{request}} of {_ACCOUNT} for the role {{role}} has ended: it is {{state}}.",),
    ),
    "emergency_given": Words(
        "A role was given in an emergency",
        (
            "{account} was given the role {role} at {site} at once, in an emergency, until {until}.",
            "Look at what it is used for, and close the access request {request} with a reason.",
        ),
    ),
    "name_taken": Words(
        "A name of a provider is taken",
        (
            "Somebody has signed in at {site} with the provider {name} as {account}, a name that is taken.",
            "The new account is {made}.",
            "If both are one person, hand the account {account} over to the provider.",
        ),
    ),
    "test": Words(
        "A mail for a test",
        ("An operator of {site} has sent this mail, to see whether mails arrive. They do.",),
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
