"""Names, and which characters of a text people can't see."""

import sys
from collections.abc import Callable
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from service.kernel.text import (
    MAX_USER_NAME,
    first_unseen,
    name_fault,
    name_key,
    seen,
    text_fault,
    unseen_fault,
)
from service.kernel.value_rules import BAN_REASON, COMPONENT, DESCRIPTION, EMAIL, MENU_PATH, SHORT_LINE
from tests.support.cases import with_each


@with_each(
    ("spelling", "other"),
    [
        ("Admin", "ADMIN"),
        ("admin", "\uff41dmin"),  # a full-width letter
        ("Straße", "STRASSE"),
        ("Björn", "BJO\u0308RN"),  # a combining diaeresis
        ("\u2126mega", "\u03c9mega"),  # ohm sign and omega
        ("ﬁle", "file"),  # a ligature
        ("\u1fb3", "\u0391\u0345"),  # an iota below, and one to the right
    ],
)
def test_spellings_of_one_name_have_one_key(spelling: str, other: str) -> None:
    assert name_key(spelling) == name_key(other)


@with_each(("name", "other"), [("admin", "\u0430dmin"), ("admin", "admin "), ("a", "ä"), ("", " ")])
def test_different_names_have_different_keys(name: str, other: str) -> None:
    assert name_key(name) != name_key(other)


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)


@with_each(
    "text",
    [
        "",
        "a" * (MAX_USER_NAME + 1),
        " admin",
        "admin\u00a0",
        "ad\0min",
        "ad\nmin",
        "ad\u200bmin",  # a space of no width
        "\u202enimda",  # written from right to left
        "\ud800",
        "admin\ufe0f",  # a variation selector
        "admin\u034f",  # a grapheme joiner
        "\u3164",  # a letter that fills
        "\u2028x",
        "\ue000",
    ],
)
def test_what_can_not_be_seen_is_no_name(text: str) -> None:
    assert text_fault(text) is not None
    assert name_fault(text) is not None


@with_each(
    "text", ["\u0430dmin", "r\u03bfot", "\uff21\u0410", "\u2126mega", "two  spaces", "two\u00a0 spaces"]
)
def test_a_name_that_imitates_another_by_other_letters_is_refused_as_a_user_name(text: str) -> None:
    assert name_fault(text) is not None
    assert text_fault(text) is None


@with_each("text", ["@", "@operator", "@review:7", "\uff20entra", "\ufe6boperator"])
def test_a_name_that_the_logs_have_for_what_is_no_user_is_refused_as_a_user_name(text: str) -> None:
    assert name_fault(text) is not None
    assert text_fault(text) is None


@with_each(
    "text",
    ["heron@example.org", "admin", "Björn Ærø", "Иван", "Ωμέγα", "王小明", "田中 taro", "%_'; --", "١٢٣"],
)
def test_names_of_people_everywhere_are_names(text: str) -> None:
    assert name_fault(text) is None


BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
RULES: dict[str, Callable[[str], str | None]] = {
    "a name of a person": name_fault,
    "a displayed name": text_fault,
    "a title": SHORT_LINE,
    "a component": COMPONENT,
    "a path": MENU_PATH,
    "a description": DESCRIPTION,
    "an email address": EMAIL,
    "a reason": BAN_REASON,
}


@with_each("rule", RULES)
def test_no_text_turns_the_direction_of_what_is_around_it(rule: str) -> None:
    wrong = "a%s@example.org" if rule == "an email address" else "users%sx"
    assert RULES[rule](wrong % "") is None
    for control in BIDIRECTIONAL:
        assert RULES[rule](wrong % control) is not None, hex(ord(control))


def test_a_fault_says_which_character_it_is() -> None:
    assert unseen_fault("us\u202eers\u200b") == "must not hold U+202E, which can't be seen"
    assert SHORT_LINE("us\u202eers") == "must not hold U+202E, which can't be seen"
    assert SHORT_LINE("us\u202eers" * 100) == SHORT_LINE.says


def test_every_control_format_and_separating_character_is_refused_alone_and_inside() -> None:
    unseen = [
        chr(code_point) for code_point in range(sys.maxunicode + 1) if category(chr(code_point)) in _REFUSED
    ]
    assert len(unseen) > 200
    for character in unseen:
        for text in (character, f"a{character}b", f"1{character}1", f"{character}{character}"):
            assert first_unseen(text) == character, hex(ord(character))


_REFUSED = {"Cc", "Cf", "Zl", "Zp"}


@with_each(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian: I want
        "PDF\u200c\u0647\u0627",  # Persian: PDFs
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala: Sri
        "\u0995\u09cd\u200c\u09b7",  # Bengali, not joined
        "\u09b0\u200d\u09cd\u09af",  # Bengali, a joiner before the virama
    ],
)
def test_joiners_are_accepted_in_displayed_names_where_words_are_spelt_with_them(text: str) -> None:
    assert text_fault(text) is None
    assert SHORT_LINE(text) is None
    assert DESCRIPTION(text) is None
    assert name_fault(text) is not None, "people type the names of users"


@with_each(
    "text",
    ["\U0001f469\u200d\U0001f4bb", "\u2764\ufe0f\u200d\U0001f525", "1\ufe0f\u20e3", "\u2699\ufe0f Settings"],
)
def test_emoji_are_accepted_whole(text: str) -> None:
    assert text_fault(text) is None
    assert SHORT_LINE(text) is None


@with_each(
    "text",
    [
        "ad\u200dmin",
        "ad\u200cmin",
        "\u200dadmin",
        "admin\u200d",
        "\u0645\u200c",
        "\u200c\u0645",
        "\u0645\u200c\u200c\u0645",
        "\u0645\u200c \u0645",
        "\u0430\u200c\u0434",
        "admin\ufe0f",
        "\ufe0f",
        "\U0001f469\u200dx",
        "\U0001f469\u200c\U0001f4bb",
        "\u2764\ufe0f\ufe0f",
    ],
)
def test_joiners_and_selectors_are_refused_where_they_shape_nothing(text: str) -> None:
    assert text_fault(text) is not None
    assert SHORT_LINE(text) is not None


def test_several_lines_are_for_descriptions_and_reasons_alone() -> None:
    for control in "\n\t\r":
        assert DESCRIPTION(f"a{control}b") is None
        assert BAN_REASON(f"a{control}b") is None
        assert SHORT_LINE(f"a{control}b") is not None
        assert text_fault(f"a{control}b") is not None


def test_names_with_and_without_joiners_are_one_name() -> None:
    assert name_key("\u0645\u06cc\u200c\u062e\u0648") == name_key("\u0645\u06cc\u062e\u0648")
    assert name_key("\u2764\ufe0f") == name_key("\u2764")


def test_what_is_left_of_a_text_can_be_seen() -> None:
    assert seen(" List\u202e\n of\x1b ") == "List   of"
    assert seen("a\n\u2066b", lines=True) == "a\n b"
    assert seen("\u0645\u06cc\u200c\u062e") == "\u0645\u06cc\u200c\u062e"
