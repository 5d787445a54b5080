"""Which new passwords are refused."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.authn.password_rules import PasswordRules
from service.errors import ValidationFailed
from service.records.installation.seed_catalogue import ADMINISTRATOR
from service.records.user_list import UserValues
from service.settings import Password
from service.settings.values import Words
from tests.support.cases import with_each
from tests.support.running import ROOT

ALICE = UserValues(
    user_name="alice.w", nick_name="Alice Wonder", email="alice@example.org", phone="+49 30 7391846"
)
NOBODY = UserValues(user_name="", nick_name="")
OWN = UserValues(user_name="heron", nick_name="vornquist-ek")


@pytest.fixture(scope="module")
def rules() -> PasswordRules:
    return PasswordRules(Password())


@with_each(
    "password",
    [
        "gate, chain and winch",
        "x7#Kq!2z",
        "correct horse battery staple gun",
        "日本語の門と鎖と鍵",
        "päßwörterbücher",
        "alice keeps the northern gate",
        "my password is a long sentence",
        "dragons do not knit",
        "tab\tand\x00nul",
        "пароли для ворот",
        "gate and chain, " * 8,
    ],
)
def test_what_is_hard_to_guess_is_taken(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password, ALICE) is None


@with_each("password", ["", "short", "7 chars", "n" * 129, "ab" * 70])
def test_too_short_or_too_long_is_refused(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password, NOBODY) == "must have 8 to 128 characters"


def test_the_longest_password_counts_whole(rules: PasswordRules) -> None:
    longest = "gate and chain, " * 8

    assert len(longest) == 128
    assert rules.complaint(longest, NOBODY) is None


@with_each(
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
        "p\u0430ssword",  # with a Cyrillic letter
        "p\u03b1ssw\u03bfrd1",  # with Greek ones
        "\u0440\u0430\u0455\u0455word",  # half of it Cyrillic
        "p\u00e4ssw\u00f6rd",  # with marks
        "polizei1",
        "11111111a",
        "fussball1",
        "hunde123",
        "contrase\u00f1a1",
        "azertyuiop",
        "hunter2hunter2",
        "a" * 60 + "b" * 60,
        "01.02.1987",
        "eight ch",
    ],
)
def test_what_guessers_try_first_is_refused(rules: PasswordRules, password: str) -> None:
    assert rules.complaint(password, NOBODY) == "is too easy to guess"


@with_each(
    "password",
    [
        "alice.w1",
        "Alice2024!",
        "1wonder1",
        "wonderalice",
        "example1",
        "alice@example.org",
        "+49 30 7391846",
        "+49307391846",
        "7391846!",
        "Portcullis1",
        "portcullis!!",
    ],
)
def test_what_is_made_of_names_addresses_and_phone_numbers_is_refused(
    rules: PasswordRules, password: str
) -> None:
    assert (rules.complaint(password, ALICE) or "").startswith("must not consist of your name")


def test_the_refusal_names_the_field_and_not_the_password(rules: PasswordRules) -> None:
    with pytest.raises(ValidationFailed) as raised:
        rules.check("newPassword", "password123", NOBODY)

    (error,) = raised.value.extra["errors"]
    assert error["field"] == "newPassword"
    assert "password123" not in str(error)


def test_lengths_follow_the_settings() -> None:
    rules = PasswordRules(Password(min_length=12, max_length=64))

    assert rules.complaint("eleven chrs", NOBODY) == "must have 12 to 64 characters"
    assert rules.complaint("twelve chars", NOBODY) is None


def test_who_has_a_second_factor_may_have_a_shorter_password() -> None:
    rules = PasswordRules(Password(min_length=15, min_length_with_factor=8))

    assert rules.complaint("x7#Kq!2z", NOBODY) == "must have 15 to 128 characters"
    assert rules.complaint("x7#Kq!2z", NOBODY, has_factor=True) is None
    assert rules.complaint("x7#Kq!2", NOBODY, has_factor=True) == "must have 8 to 128 characters"


def test_a_second_factor_makes_no_difference_as_long_as_no_length_is_set_for_it() -> None:
    rules = PasswordRules(Password(min_length=15))

    assert rules.complaint("x7#Kq!2z", NOBODY, has_factor=True) == "must have 15 to 128 characters"


@with_each("password", ["Rocket-Sled", "rocketsled1", "ACME2024!", "acmeacme", "\u0430cme-2024"])
def test_words_of_the_organization_are_refused(rules: PasswordRules, password: str) -> None:
    own = PasswordRules(Password(own_words=Words(["Acme", "rocket sled"])))

    assert (own.complaint(password, NOBODY) or "").endswith("or your organization")
    assert not (rules.complaint(password, NOBODY) or "").endswith("or your organization")
    assert own.complaint("acme keeps the northern gate", NOBODY) is None


def test_half_a_surrogate_pair_is_refused(rules: PasswordRules) -> None:
    assert rules.complaint("gate and \ud800 chain", NOBODY) == "must be text"


def test_the_names_of_the_user_count_in_letters_that_look_alike(rules: PasswordRules) -> None:
    assert (rules.complaint("Al\u0456ce2024", ALICE) or "").startswith("must not consist of your name")
    assert rules.complaint("vornquist-ek", NOBODY) is None
    own = rules.complaint("vornquist-ek", OWN)
    assert (own or "").startswith("must not consist of your name")


def test_one_call_knows_nothing_of_the_names_of_another(rules: PasswordRules) -> None:
    with ThreadPoolExecutor(4) as threads:
        complaints = list(
            threads.map(
                lambda number: rules.complaint("vornquist-ek", OWN if number % 2 else NOBODY),
                range(40),
            )
        )

    assert [complaint is None for complaint in complaints] == [number % 2 == 0 for number in range(40)]


@pytest.mark.parametrize("least", [8, 30, 128])
def test_generated_passwords_are_allowed(least: int) -> None:
    rules = PasswordRules(Password(min_length=least))

    made = {rules.generate(ADMINISTRATOR) for _ in range(6)}

    assert len(made) == 6
    assert all(len(password) >= 20 and rules.complaint(password, ADMINISTRATOR) is None for password in made)


def test_a_generated_password_that_is_refused_is_not_used(
    rules: PasswordRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["password" * 3, "Xw4-kT9_qLr2vB8zMh3N"])
    monkeypatch.setattr("service.authn.password_rules.secrets.token_urlsafe", lambda _size: next(drawn))

    assert rules.generate(NOBODY) == "Xw4-kT9_qLr2vB8zMh3N"


@with_each("password", ["4@8({[<369&#!|1/70$5+%2" * 5, "a" * 128, "p4s5w0rd7!$" * 11, "0123456789" * 12])
def test_what_is_judged_is_bounded_however_long_a_password_is(password: str) -> None:
    """Of what costs most to judge, all that counts is judged: 32 characters, and four kinds of signs."""
    judged: list[str] = []

    def record(text: str, **_names: list[str]) -> dict[str, float]:
        judged.append(text)
        return {"guesses": 1e9}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zxcvbn.zxcvbn", record)
        assert PasswordRules(Password()).complaint(password, NOBODY) is None

    assert judged
    for text in judged:
        assert len(text) <= 32
        assert len(set(text) & set("@({[<!|$+%")) <= 4


def test_a_process_that_judges_no_password_loads_no_word_lists() -> None:
    code = "import sys, service.authn.password_rules; print('zxcvbn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "False\n"
