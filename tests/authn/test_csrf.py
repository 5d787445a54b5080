"""CSRF proofs."""

from pathlib import Path

import pytest

from service.authn.csrf import Csrf, check_source
from service.errors import CsrfFailed
from service.settings import Auth
from tests.authn.conftest import SECRET
from tests.authn.keys import settings_for
from tests.support.cases import with_each

MOMENT = 1_700_000_000_123


@pytest.fixture
def csrf(auth: Auth) -> Csrf:
    return Csrf(auth)


def refused(csrf: Csrf, token: str | None, login_id: str = "1", issued: int = MOMENT) -> bool:
    try:
        csrf.check(token, login_id, issued)
    except CsrfFailed:
        return True
    return False


def test_a_token_proves_its_own_pair(csrf: Csrf) -> None:
    assert not refused(csrf, csrf.issue("1", MOMENT))


def test_tokens_of_one_pair_differ_and_all_count(csrf: Csrf) -> None:
    tokens = {csrf.issue("1", MOMENT) for _ in range(10)}

    assert len(tokens) == 10
    assert not any(refused(csrf, token) for token in tokens)


def test_another_users_token_proves_nothing(csrf: Csrf) -> None:
    assert refused(csrf, csrf.issue("2", MOMENT))
    assert refused(csrf, csrf.issue("11", MOMENT))


def test_the_token_of_an_earlier_or_later_pair_proves_nothing(csrf: Csrf) -> None:
    assert refused(csrf, csrf.issue("1", MOMENT - 1))
    assert refused(csrf, csrf.issue("1", MOMENT + 1))


def test_parts_cannot_be_moved_between_user_and_moment(csrf: Csrf) -> None:
    assert refused(csrf, csrf.issue("1", 11), "11", 1)


@pytest.mark.parametrize("token", [None, "", ".", "..", "x", "é", "a" * 22 + "." + "a" * 43])
def test_what_was_not_issued_proves_nothing(csrf: Csrf, token: str | None) -> None:
    assert refused(csrf, token)


def test_one_changed_letter_anywhere_spoils_a_token(csrf: Csrf) -> None:
    token = csrf.issue("1", MOMENT)
    for place, letter in enumerate(token):
        other = "b" if letter != "b" else "c"
        assert refused(csrf, token[:place] + other + token[place + 1 :])
    assert refused(csrf, token + "\n")


@pytest.mark.parametrize("algorithm", ["HS256", "RS256", "ES256", "EdDSA"])
def test_all_workers_with_one_signing_key_take_each_others_tokens(algorithm: str, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, algorithm, SECRET)

    assert not refused(Csrf(settings), Csrf(settings).issue("1", MOMENT))


def test_another_signing_key_makes_other_tokens(csrf: Csrf) -> None:
    assert refused(csrf, Csrf(Auth(jwt_secret=SECRET[::-1])).issue("1", MOMENT))


@with_each(
    ("fetch_site", "origin"),
    [
        ("same-origin", None),
        ("same-origin", "https://admin.example"),
        ("none", None),
        (None, "https://admin.example"),
        (None, "https://ADMIN.example"),
        (None, None),
    ],
)
def test_requests_of_our_own_pages_pass(fetch_site: str | None, origin: str | None) -> None:
    check_source(fetch_site=fetch_site, origin=origin, host="admin.example")


@with_each(
    ("fetch_site", "origin"),
    [
        ("cross-site", None),
        ("same-site", None),
        ("cross-site", "https://admin.example"),
        ("", None),
        ("Same-Origin", None),
        (None, "https://evil.example"),
        (None, "https://admin.example.evil.example"),
        (None, "https://evil.example/admin.example"),
        (None, "https://admin.example:8443"),
        (None, "null"),
        (None, ""),
        (None, "admin.example"),
    ],
)
def test_requests_of_other_sites_are_refused(fetch_site: str | None, origin: str | None) -> None:
    with pytest.raises(CsrfFailed):
        check_source(fetch_site=fetch_site, origin=origin, host="admin.example")
