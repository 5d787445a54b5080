from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authn.api_key_form import ApiKey, _checksum, is_api_key, new_secret, parsed

KEY = ApiKey(12, "0123456789ABCDEFGHIJKLMNOPQRSTUV")


def test_the_form_and_the_checksum_are_those_documented() -> None:
    # The checksum was computed by a program of its own: CRC-32 of "pck_12_0123…STUV" in base 62.
    assert str(KEY) == "pck_12_0123456789ABCDEFGHIJKLMNOPQRSTUV_0mLP7D"


@given(st.integers(1, 2**63 - 1))
def test_a_key_is_read_as_it_was_made(key_id: int) -> None:
    key = ApiKey(key_id, new_secret())
    assert parsed(str(key)) == key


@given(st.text() | st.from_regex(r"pck_[0-9]{0,21}_[0-9A-Za-z]{30,34}_[0-9A-Za-z]{5,7}", fullmatch=True))
def test_any_other_text_is_no_key(text: str) -> None:
    key = parsed(text)
    assert key is None or str(key) == text


@given(st.integers(0, len(str(KEY)) - 1), st.characters())
def test_a_key_with_one_other_character_is_no_key(place: int, other: str) -> None:
    changed = str(KEY)[:place] + other + str(KEY)[place + 1 :]
    assert (parsed(changed) is None) == (changed != str(KEY))


@pytest.mark.parametrize("text", ["", "pck_", "PCK_12", " pck_", "eyJhbGciOiJIUzI1NiJ9.e30.x"])
def test_what_is_no_key_is_not_taken_for_one(text: str) -> None:
    assert parsed(text) is None
    assert is_api_key(text) == text.startswith("pck_")


@pytest.mark.parametrize("key_id", ["0", "01", "-1", "9223372036854775808", "99999999999999999999"])
def test_an_id_that_no_row_has_is_refused(key_id: str) -> None:
    body = f"pck_{key_id}_{KEY.secret}"
    assert parsed(f"{body}_{_checksum(body)}") is None


def test_a_key_does_not_show_its_secret_by_accident() -> None:
    assert KEY.secret not in repr(KEY)
    assert new_secret() != new_secret()
