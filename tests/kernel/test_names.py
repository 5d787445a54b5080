from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernel.names import name_key


@pytest.mark.parametrize(
    ("one", "other"),
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
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("admin", "\u0430dmin"), ("admin", "admin "), ("a", "ä"), ("", " ")]
)
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)
