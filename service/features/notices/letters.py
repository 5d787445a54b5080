"""The texts of all mails: for each kind a subject and paragraphs in each language, with facts in braces.

``server/mails.json`` in the folder of a language has them (``service.kernel.languages``).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cache
from string import Formatter
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from service.kernel.languages import FIRST, LANGUAGES, server_texts
from service.kernel.notify import NoticeLink
from service.kernel.text import printable

_LONGEST_FACT: Final = 200  # characters
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)
_OF_ALL: Final = ("host", "link", "page", "site", "subject")  # names in braces that are no facts
RECORDS: Final = ("request", "review", "revision", "approval")
"""Facts with the id of the record that a notice is about."""
_VIEWS: Final = (("review_", "reviews"), ("policy_", "policy/revisions"), ("approval_", "account/approvals"))
"""Views of the console by the beginning of the kind; others are about access requests."""


class Form(NamedTuple):
    """The form of a kind of mail, the same in all languages.

    ``frame`` names the paragraphs that several kinds have after their own. ``needs_link``: it is never sent
    without a link. A mail without a link omits the paragraphs that name ``{link}``. ``link`` is the action of
    the link in a notice.
    """

    frame: str = ""
    needs_link: bool = False
    link: NoticeLink = "end_sessions"


_LINKED: Final = Form(needs_link=True)
_NOTICE: Final = Form("notice")
_MOVED: Final = Form("moved", link="address_undo")
_PLAIN: Final = Form()

FORMS: Final[Mapping[str, Form]] = {
    **dict.fromkeys(("invitation", "password_reset", "address_confirmation"), _LINKED),
    **dict.fromkeys(
        (
            *("new_device", "second_factor_blocked", "session_stolen", "password_changed", "factor_added"),
            *("factor_removed", "identity_linked", "identity_unlinked", "factors_reset", "api_key_made"),
            *("recovery_codes_made", "recovery_code_used", "address_restored", "address_verified"),
            *("roles_changed", "banned", "key_used_elsewhere", "key_leaked", "delegation_made"),
        ),
        _NOTICE,
    ),
    **dict.fromkeys(("address_changed", "recovery_changed"), _MOVED),
    **dict.fromkeys(
        (
            *("role_ends", "account_dormant", "key_expires", "access_request_made", "access_request_ended"),
            *("emergency_given", "name_taken", "test"),
            *("review_opened", "review_due", "review_closed", "policy_signed_off", "approval_asked"),
        ),
        _PLAIN,
    ),
}
"""The kinds of mails."""


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """The text of a kind of mail in one language, without the paragraphs of its frame."""

    subject: str
    paragraphs: list[str]


class Texts(Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of one language; ``{site}`` is the address of the service, ``{host}`` the host in it.

    ``{page}`` is the page of the console about the record of the notice.

    ``frames`` are paragraphs of several kinds, ``words`` are facts that depend on the language.
    """

    subject: str = ""
    signed: str = ""
    frames: dict[str, list[str]] = {}
    kinds: dict[str, Words] = {}
    words: dict[str, str] = {}


@cache
def own_texts(language: str) -> Texts:
    """Return the texts of a shipped language, without those that it lacks."""
    return msgspec.json.decode(server_texts(language, "mails.json"), type=Texts)


@cache
def texts_of(language: str | None) -> Texts:
    """Return the texts of a language. ``FIRST`` has those that it lacks, and all of an unknown one."""
    first = own_texts(FIRST)
    if language == FIRST or language not in LANGUAGES:
        return first
    own = own_texts(language)
    return Texts(
        own.subject or first.subject,
        own.signed or first.signed,
        first.frames | own.frames,
        first.kinds | own.kinds,
        first.words | own.words,
    )


class Reader(NamedTuple):
    """The language and the time zone in which a mail is read."""

    language: str = FIRST
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Phrase:
    """A fact that depends on the language: one of ``Texts.words`` with ``facts`` of its own.

    ``otherwise`` is shown if no language has the word.
    """

    name: str
    otherwise: str = ""
    facts: Mapping[str, "Fact"] = field(default_factory=dict)


Fact: TypeAlias = str | datetime | Phrase | Collection[str]


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to a recipient: ``user_id`` is the account that it is about, if there is one.

    ``facts`` has a value for each name in the words of its ``kind``. Raises ``KeyError`` for an unknown kind
    and for a missing fact.
    """

    kind: str
    recipient: str
    user_id: int | None
    facts: Mapping[str, Fact]

    def __post_init__(self) -> None:
        if missing := sorted(names_of(own_texts(FIRST), self.kind) - self.facts.keys()):
            raise KeyError(f"a mail of the kind {self.kind} needs {', '.join(missing)}")

    def shown_facts(self, reader: Reader) -> dict[str, str]:
        """Return the facts as the mail shows them: each on one line, of limited length, without links."""
        return {name: _shown(fact, reader) for name, fact in self.facts.items()}


def text_of(
    kind: str, facts: Mapping[str, str], site: str, link: str | None, language: str | None
) -> tuple[str, str]:
    """Return the subject and the text of a mail, from shown ``facts``. KeyError for an unknown kind."""
    texts = texts_of(language)
    words = texts.kinds[kind]
    subject = texts.subject.format(host=urlsplit(site).netloc, subject=words.subject)
    paragraphs = [part for part in _paragraphs(texts, kind) if link is not None or "{link}" not in part]
    record = record_of(facts)
    page = site if record is None else page_of(kind, record, site)
    known = {**facts, "site": site, "link": link, "page": page}
    return subject, "\n\n".join(part.format_map(known) for part in (*paragraphs, texts.signed)) + "\n"


def record_of(facts: Mapping[str, Any]) -> Any:
    """Return the id of the record that a notice is about; None for none."""
    return next((facts[name] for name in RECORDS if name in facts), None)


def page_of(kind: str, record: str, site: str) -> str:
    """Return the address in the console of the record that a notice of ``kind`` is about."""
    view = next((view for kinds, view in _VIEWS if kind.startswith(kinds)), "access-requests")
    return f"{site}/console/#/{view}/{quote(record, safe='')}"


def names_of(texts: Texts, kind: str) -> set[str]:
    """Return the names of the facts in the text of a kind. KeyError for an unknown kind."""
    return {name for part in _paragraphs(texts, kind) for name in names_in(part)}.difference(_OF_ALL)


def names_in(text: str) -> Iterator[str]:
    """Yield the names in braces in ``text``."""
    yield from (name for _, name, _, _ in Formatter().parse(text) if name)


def has_link(kind: str) -> bool:
    """Return whether the text of a kind contains a link."""
    return any("link" in names_in(part) for part in _paragraphs(texts_of(FIRST), kind))


def _paragraphs(texts: Texts, kind: str) -> list[str]:
    frame = FORMS[kind].frame
    return [*texts.kinds[kind].paragraphs, *(texts.frames[frame] if frame else ())]


def _shown(fact: Fact, reader: Reader) -> str:
    match fact:
        case datetime():
            return _time(fact, reader.zone)
        case Phrase():
            words = texts_of(reader.language).words.get(fact.name)
            if words is not None:
                return words.format_map({name: _shown(inner, reader) for name, inner in fact.facts.items()})
            text = fact.otherwise
        case str():
            text = fact
        case _:
            text = texts_of(reader.language).words["between"].join(fact)
    # Mail programs turn such texts into links; a chosen name must not set the target of a link.
    return _WEB.sub(r"\1 .", printable(text)[:_LONGEST_FACT].replace("://", ":/ /"))


def _time(time: datetime, zone: tzinfo) -> str:
    """Return a time in ``zone`` with its name, and the difference from UTC of zones other than that."""
    local = time.astimezone(zone)
    shown, name = f"{local:%Y-%m-%d %H:%M}", str(zone)
    hours, minutes = f"{local:%z}"[:3], f"{local:%z}"[3:5]
    return f"{shown} {name}" if name == "UTC" else f"{shown} {name} (UTC{hours}:{minutes})"
