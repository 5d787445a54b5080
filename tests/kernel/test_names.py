from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernel.names import MAX_NAME_LENGTH, name_fault, name_key, text_fault


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("name", "other"), [("admin", "\u0430dmin"), ("admin", "admin "), ("a", "ä"), ("", " ")]
)
def test_different_names_have_different_keys(name: str, other: str) -> None:
    assert name_key(name) != name_key(other)


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * (MAX_NAME_LENGTH + 1),
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


@pytest.mark.parametrize(
    "text", ["\u0430dmin", "r\u03bfot", "\uff21\u0410", "\u2126mega", "two  spaces", "two\u00a0 spaces"]
)
def test_a_name_that_imitates_another_by_other_letters_is_refused_as_a_user_name(text: str) -> None:
    assert name_fault(text) is not None
    assert text_fault(text) is None


@pytest.mark.parametrize(
    "text", ["admin", "Björn Ærø", "Иван", "Ωμέγα", "王小明", "田中 taro", "%_'; --", "١٢٣"]
)
def test_names_of_people_everywhere_are_names(text: str) -> None:
    assert name_fault(text) is None
