"""Rules for the values of fields; the bodies of the API have their bounds and patterns from here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

from service.kernel.coded_sentences import Sentence
from service.kernel.codes import is_code
from service.kernel.core_sentences import sentence
from service.kernel.services import NAME, is_service_name
from service.kernel.text import unseen_fault


@dataclass(frozen=True, slots=True)
class TextRule:
    """A rule: ``most`` characters that can be seen, of which ``pattern``, if there is one, must match all.

    ``lines``: there may be several lines. ``published``: schemas of the API have the pattern, so that a body
    is refused while it is read; without it the edit refuses the text, with all other faults. Called with a
    text it returns why the text breaks the rule, half a sentence ("must …"), which is ``says`` but for unseen
    characters; else None.
    """

    most: int
    says: Sentence
    pattern: str = ""
    lines: bool = False
    published: bool = True
    _form: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_form", re.compile(self.pattern or r"[\s\S]*"))

    def __call__(self, text: str) -> Sentence | None:
        """Return why ``text`` is refused, or None."""
        fits = len(text) <= self.most and self._form.fullmatch(text)
        return unseen_fault(text, lines=self.lines) if fits else self.says


@dataclass(frozen=True, slots=True)
class RangeRule:
    """A rule: a whole number from ``least`` to ``most``; called as ``TextRule`` is."""

    least: int
    most: int

    def __call__(self, number: int) -> Sentence | None:
        """Return why ``number`` is refused, or None."""
        within = self.least <= number <= self.most
        return None if within else sentence("out_of_range", least=self.least, most=self.most)


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """A rule: one of a few texts; called as ``TextRule`` is."""

    choices: tuple[str, ...]

    def __call__(self, text: str) -> Sentence | None:
        """Return why ``text`` is refused, or None."""
        return (
            None
            if text in self.choices
            else sentence("not_one_of", choices=self.choices[:-1], last=self.choices[-1])
        )


def whole(pattern: str) -> str:
    """Return a regular expression that matches whole texts only, for ``Meta(pattern=…)``.

    msgspec searches within texts, and in Python ``$`` also matches before a final line feed. The result means
    the same in Python and in ECMA-262, which JSON Schema uses.
    """
    return rf"^(?:{pattern})(?![\s\S])"


def bounds_of(rule: Any) -> Meta:
    """Return the part of ``rule`` that a JSON schema can express; empty for a plain function.

    The result carries the rule, so that a body with other faults also reports the faults that the rule finds
    (``type_faults``).
    """
    match rule:
        case TextRule():
            pattern = whole(rule.pattern) if rule.pattern and rule.published else None
            return Meta(max_length=rule.most, pattern=pattern, extra={"says": rule.says, "rule": rule})
        case RangeRule():
            return Meta(ge=rule.least, le=rule.most, extra={"rule": rule})
    return Meta(extra={"rule": rule})


MAX_ID: Final = 2**63 - 1
"""The largest id: PostgreSQL's bigint."""

ID: Final = Meta(ge=1, le=MAX_ID, examples=[1])
Id = Annotated[int, ID]
"""An id: an integer from 1 to ``MAX_ID``."""
UserName = Annotated[str, Meta(examples=["heron"])]
"""The name of a user, as records and answers have it."""
RoleCode = Annotated[str, Meta(examples=["auditor"])]
"""The code of a role, as records and answers have it."""
UpdatedBy = Annotated[
    str | None,
    Meta(
        examples=["admin"],
        description="The author of the last edit: the user name at that time, `@operator` for an operator's "
        "command, null for a seeded record.",
    ),
]
"""The user who created or last edited a record."""
Code = Annotated[str, Meta(examples=["system:role:list"])]
"""A permission code, as records and answers have it."""

ONE_LINE: Final = r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?"
"""The pattern of display names: one line, no space at either end."""


def one_line(most: int) -> TextRule:
    """Return the rule of a text of one line, with ``most`` characters."""
    return TextRule(most, sentence("one_line_required", most=most), ONE_LINE)


SHORT_LINE: Final = one_line(128)
"""Names, titles and icons."""
COMPONENT: Final = one_line(256)
DESCRIPTION: Final = TextRule(1000, sentence("too_long", most=1000), lines=True)
BAN_REASON: Final = TextRule(200, sentence("too_long", most=200), lines=True)

# User interfaces navigate to it: another scheme or host would lead elsewhere unnoticed.
_VISIBLE: Final = r"[^\s\\\x00-\x1f\x7f]"
MENU_PATH: Final = TextRule(
    256,
    sentence("not_a_menu_path", most=256),
    rf"https?://{_VISIBLE}+|/(?!/){_VISIBLE}*|[A-Za-z0-9._-](?:(?!:){_VISIBLE})*",
)
OWN_PATH: Final = TextRule(256, sentence("not_an_own_path", most=256), rf"/(?!/){_VISIBLE}*")
# No user before the host: `https://bank.example@other.example` leads to the second.
LINK: Final = TextRule(
    1024,
    sentence("not_a_link", most=1024),
    rf"https?://[^\s\\/?#@\x00-\x1f\x7f]+(?:[/?#]{_VISIBLE}*)?|/(?!/){_VISIBLE}*",
)
BADGE: Final = one_line(32)
SORT: Final = RangeRule(-(2**31), 2**31 - 1)
MAX_DURATION: Final = RangeRule(1, 10 * 31_536_000)
"""The seconds that an assignment of a role may last at most: ten years."""
REASON: Final = TextRule(500, sentence("too_long", most=500), lines=True)
"""Why a role is assigned."""
ServiceName = Annotated[
    str,
    Meta(max_length=32, pattern=whole(NAME.pattern), examples=["orders"]),
    Meta(extra={"says": sentence("not_a_service_name_form")}),
]
"""The name of a service; `portcullis` is this one."""

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
METHOD: Final = ChoiceRule(get_args(Method))
MAX_REGISTERED_PATH: Final = 1024
"""The longest path of a resource in characters."""
RESOURCE_CODE: Final = TextRule(
    64,
    sentence("not_a_resource_code", most=64),
    "[A-Za-z0-9][A-Za-z0-9._:-]*",
)

# Simpler than RFC 5321, and strict about characters that are unsafe in headers and links.
_ATOM: Final = r"[^\W_](?:[\w.+'-]*[\w+'-])?|_[\w.+'-]*[\w+'-]"
_LABEL: Final = r"[^\W_](?:[\w-]*[^\W_])?"
EMAIL: Final = TextRule(
    254,
    sentence("not_an_email_address", most=254),
    rf"(?:{_ATOM})@{_LABEL}(?:\.{_LABEL})*",
    published=False,
)
PHONE: Final = TextRule(
    32, sentence("not_a_phone_number", most=32), r"\+?[0-9](?:[ ./()-]{0,2}[0-9])*", published=False
)
# The characters of RFC 3986; only these two schemes, and no `//host`, which would be a URL without one.
AVATAR: Final = TextRule(
    1024,
    sentence("not_an_avatar", most=1024),
    r"(?:https?://|/(?![/\\]))[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+",
    published=False,
)


def code_fault(text: str) -> Sentence | None:
    """Return why ``text`` can't be the permission code of a Button; None if it can."""
    if is_code(text):
        return None
    return sentence("not_a_permission_code")


def service_fault(text: str) -> Sentence | None:
    """Return why ``text`` can't be the name of a service; None if it can."""
    if is_service_name(text):
        return None
    return sentence("not_a_service_name")


MOST_BYTES: Final = 4096
"""The longest object as JSON, in bytes of UTF-8 without spaces."""
MOST_LEVELS: Final = 4
"""The most levels of objects and lists; the object itself is the first."""
MOST_KEYS: Final = 64
"""The most keys of each object."""

# A script that merges objects would write to the prototype of all of its objects.
KEY: Final = r"^(?!(?:constructor|prototype)$)[A-Za-z][A-Za-z0-9_.-]{0,63}$"
"""The pattern of a key, as JSON Schema has it."""
_KEY: Final = re.compile(KEY)
# The range that every JSON reader keeps exactly (RFC 8259 §6); PostgreSQL stores all digits of other numbers.
_LARGEST: Final = 2**53 - 1
_SMALLEST: Final = 1e-9


def free_object_fault(value: dict[str, Any]) -> Sentence | None:
    """Return why ``value`` is refused, half a sentence ("must …"); None if it is a small JSON object.

    This module has the limits of its size. Its keys are names, so that none has a meaning in a script. Its
    texts can be read, and its numbers mean the same everywhere.
    """
    if fault := next(_faults(value, 1), None):
        return fault
    fits = len(msgspec.json.encode(value)) <= MOST_BYTES
    return None if fits else sentence("object_too_large", most=MOST_BYTES)


def _faults(value: Any, level: int) -> Iterator[Sentence]:
    match value:
        case dict() | list() if level > MOST_LEVELS:
            yield sentence("object_too_deep", most=MOST_LEVELS)
        case dict():
            if len(value) > MOST_KEYS:
                yield sentence("too_many_keys_of_object", most=MOST_KEYS)
            if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in value):
                yield sentence("not_a_key_of_object")
            yield from _faults(list(value.values()), level)
        case list():
            for member in value:
                yield from _faults(member, level + 1)
        case str() if (fault := unseen_fault(value, lines=True)) is not None:
            yield fault
        case int() | float() if value != 0 and not _SMALLEST <= abs(value) <= _LARGEST:
            yield sentence("number_out_of_range", least=_SMALLEST, most=_LARGEST)
        case None | str() | int() | float():
            pass
        case _:
            yield sentence("not_plain_json")
