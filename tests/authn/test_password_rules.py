"""Which new passwords are refused."""

from __future__ import annotations

import pytest

from service.authn.password_rules import PasswordRules
from service.errors import ValidationFailed
from service.settings import Password

CONTEXT = ("alice.w", "Alice Wonder", "alice@example.org", None)


@pytest.fixture(scope="module")
def rules() -> PasswordRules:
    return PasswordRules(Password())


@pytest.mark.parametrize(
    "password",
    [
        "gate, chain and winch",
        "eight ch",
        "x7#Kq!2z",
        "correct horse battery staple gun",
        "日本語の門と鎖と鍵",
        "päßwörterbücher",
        "a" * 60 + "b" * 60,
        "alice keeps the northern gate",
        "my password is a long sentence",
        "dragons do not knit",
        "tab\tand\x00nul",
    ],
)
def test_what_is_hard_to_guess_is_taken(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password, CONTEXT) is None


@pytest.mark.parametrize("password", ["", "short", "7 chars", "n" * 129, "ab" * 70])
def test_too_short_or_too_long_is_refused(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password) == "must have 8 to 128 characters"


def test_the_longest_password_counts_whole(rules: PasswordRules) -> None:
    longest = "gate and chain, " * 8

    assert len(longest) == 128
    assert rules.complaint(longest) is None


@pytest.mark.parametrize(
    "password",
    [
        "password",
        "PassWord",
        "password1",
        "Password123!",
        "P@ssw0rd",
        "p4$$w0rd2024",
        "123password",
        "passwordpassword",
        "12345678",
        "987654321",
        "01234567890"[:8],
        "aaaaaaaa",
        "abababab",
        "abcabcabc",
        "12341234",
        "abcdefgh",
        "zyxwvuts",
        "qwertyuiop",
        "poiuytrewq",
        "1qaz2wsx",
        "qwerty123",
        "letmein!!",
        "Welcome2024",
        "Summer2025!",
        "dragon-99",
        "dr4g0n99",
        "iloveyou1",
        "admin123",
        "Adm1n1strator",
        "changeme1",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",  # in full-width letters
    ],
)
def test_what_guessers_try_first_is_refused(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password) == "is among the passwords that are guessed first"


@pytest.mark.parametrize(
    "password",
    [
        "alice.w1",
        "Alice2024!",
        "1wonder1",
        "wonderalice",
        "example1",
        "alice@example.org",
        "Portcullis1",
        "portcullis!!",
    ],
)
def test_what_is_made_of_names_is_refused(rules: PasswordRules, password: str) -> None:
    assert (rules.complaint(password, CONTEXT) or "").startswith("must not be made of a name")


def test_the_refusal_names_the_field_and_not_the_password(rules: PasswordRules) -> None:
    with pytest.raises(ValidationFailed) as raised:
        rules.check("newPassword", "password123")

    (error,) = raised.value.extra["errors"]
    assert error["field"] == "newPassword"
    assert "password123" not in str(error)


def test_lengths_follow_the_settings() -> None:
    rules = PasswordRules(Password(min_length=12, max_length=64))

    assert rules.complaint("eleven chrs") == "must have 12 to 64 characters"
    assert rules.complaint("twelve chars") is None


def test_half_a_surrogate_pair_is_refused(rules: PasswordRules) -> None:
    assert rules.complaint("gate and \ud800 chain") == "must be text"
