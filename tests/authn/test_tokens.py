"""Issuing tokens, and the claims that a token must have."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.authn.tokens import Tokens
from service.errors import Conflict, RefreshRequired, TokenExpired, TokenInvalid
from service.kernel.assurance import Authentication
from service.kernel.permission_map import PermissionMap
from service.settings import Auth
from tests.authn.conftest import SECRET
from tests.authn.keys import KIND_OF, hs256, settings_for, unb64, verify_access
from tests.support.cases import with_each

HEADER = {"alg": "HS256", "typ": "JWT"}


def now() -> int:
    return int(time.time() * 1000)


def access_claims(**changes: Any) -> dict[str, Any]:
    """Claims of an access token that would be taken; None takes one away."""
    claims = {
        "sub": "7",
        "typ": "access",
        "iat": now() / 1000,
        "exp": now() / 1000 + 60,
        "iss": "portcullis",
        "aud": "portcullis",
        "dev": "web",
        "user_name": "ann",
        "nick_name": "Ann",
        "roles": ["user"],
        "permissions": ["a:b"],
    }
    return {name: value for name, value in (claims | changes).items() if value is not None}


def refresh_claims(**changes: Any) -> dict[str, Any]:
    kept = {
        name: value for name, value in access_claims().items() if name in ("sub", "iat", "exp", "iss", "aud")
    }
    claims = kept | {"typ": "refresh", "rid": "r" * 24} | changes
    return {name: value for name, value in claims.items() if value is not None}


def issue_access(tokens: Tokens, **changes: Any) -> tuple[str, int]:
    facts: dict[str, Any] = {
        "login_id": "7",
        "device": "web",
        "sid": "0123456789abcdef",
        "user_name": "ann",
        "nick_name": "Ann",
        "roles": ["user"],
        "permissions": ["b:c", "a:b"],
        "permission_map": PermissionMap({}),
        "authentication": Authentication(auth_time=1_700_000_000.5),
        "issued": now(),
        "ends": now() + 10**9,
    }
    return tokens.issue_access(**(facts | changes))


def payload_of(token: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(unb64(token.split(".")[1]))
    return payload


@pytest.fixture
def tokens(auth: Auth) -> Tokens:
    return Tokens(auth)


@with_each("algorithm", ["HS256", "HS384", "HS512", *KIND_OF])
def test_a_token_of_each_algorithm_is_taken_back(algorithm: str, tmp_path: Path) -> None:
    tokens = Tokens(settings_for(tmp_path, algorithm, SECRET))
    token, _ = issue_access(tokens)

    header = json.loads(unb64(token.split(".")[0]))
    assert (header.pop("alg"), header.pop("typ"), header.keys()) == (algorithm, "JWT", {"kid"})
    assert verify_access(tokens, token).sub == "7"


def test_an_access_token_says_what_the_contract_says(tokens: Tokens) -> None:
    issued = now()
    token, life = issue_access(tokens, issued=issued)

    assert payload_of(token) == {
        "sub": "7",
        "typ": "access",
        "iat": issued / 1000,
        "exp": (issued + 7_200_000) / 1000,
        "iss": "portcullis",
        "aud": "portcullis",
        "dev": "web",
        "sid": "0123456789abcdef",
        "user_name": "ann",
        "nick_name": "Ann",
        "roles": ["user"],
        "permissions": ["a:b", "b:c"],
        "acr": "pwd",
        "amr": ["pwd"],
        "auth_time": 1_700_000_000.5,
    }
    assert life == 7200


def test_only_a_token_for_an_initial_password_says_so(tokens: Tokens) -> None:
    initial = Authentication("pwd", ("pwd",), 1.0, initial=True)
    payload = payload_of(issue_access(tokens, authentication=initial)[0])

    assert payload["initial"] is True


@pytest.mark.parametrize("lacks", ["acr", "amr", "auth_time"])
def test_a_token_with_a_part_of_its_authentication_is_refused(tokens: Tokens, lacks: str) -> None:
    claims = access_claims(acr="mfa", amr=["pwd", "otp"], auth_time=1.0)

    assert verify_access(tokens, hs256(HEADER, claims, SECRET)).acr == "mfa"
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(**{**claims, lacks: None}), SECRET))


def test_with_a_permission_map_the_token_holds_bits_and_no_names(tokens: Tokens) -> None:
    token, _ = issue_access(tokens, permission_map=PermissionMap({"a:b": 0, "b:c": 9}))
    payload = payload_of(token)

    assert payload["pb"] == "AQI="
    assert "permissions" not in payload


def test_a_refresh_token_says_what_the_contract_says(tokens: Tokens) -> None:
    issued = now()
    token = tokens.issue_refresh(login_id="7", rid="r" * 24, issued=issued, ends=issued + 5000)

    assert payload_of(token) == {
        "sub": "7",
        "typ": "refresh",
        "iat": issued / 1000,
        "exp": (issued + 5000) / 1000,
        "iss": "portcullis",
        "aud": "portcullis",
        "rid": "r" * 24,
    }


def test_an_access_token_never_outlives_its_session(tokens: Tokens) -> None:
    issued = now()
    token, life = issue_access(tokens, issued=issued, ends=issued + 5000)

    assert (payload_of(token)["exp"], life) == ((issued + 5000) / 1000, 5)


def test_more_roles_than_a_token_may_hold_are_refused_when_it_is_issued(tokens: Tokens) -> None:
    with pytest.raises(Conflict):
        issue_access(tokens, roles=[f"role-{number}" for number in range(1000)])


def test_in_cookie_mode_no_token_is_issued_that_a_browser_would_drop() -> None:
    roles = [f"role-{number}" for number in range(300)]
    plain, _ = issue_access(Tokens(Auth(jwt_secret=SECRET)), roles=roles)

    assert len(plain) > 4096
    with pytest.raises(Conflict):
        issue_access(Tokens(Auth(jwt_secret=SECRET, is_read_cookie=True)), roles=roles)


def test_the_two_kinds_of_tokens_never_pass_for_one_another(tokens: Tokens) -> None:
    access, _ = issue_access(tokens)
    refresh = tokens.issue_refresh(login_id="7", rid="r" * 24, issued=now(), ends=now() + 5000)

    with pytest.raises(TokenInvalid):
        tokens.verify_refresh(access)
    with pytest.raises(TokenInvalid):
        verify_access(tokens, refresh)


def test_a_token_with_all_claims_of_both_kinds_passes_only_as_what_it_says(tokens: Tokens) -> None:
    both = hs256(HEADER, access_claims(rid="r" * 24), SECRET)

    assert verify_access(tokens, both)
    with pytest.raises(TokenInvalid):
        tokens.verify_refresh(both)


@with_each("claim", sorted(access_claims()))
def test_an_access_token_without_one_of_its_claims_is_refused(tokens: Tokens, claim: str) -> None:
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(**{claim: None}), SECRET))


@with_each("claim", sorted(refresh_claims()))
def test_a_refresh_token_without_one_of_its_claims_is_refused(tokens: Tokens, claim: str) -> None:
    with pytest.raises(TokenInvalid):
        tokens.verify_refresh(hs256(HEADER, refresh_claims(**{claim: None}), SECRET))


WRONG = [
    ("sub", 7),
    ("sub", ""),
    ("sub", "0"),
    ("sub", "07"),
    ("sub", "-7"),
    ("sub", "7\n"),
    ("sub", "\u0667"),  # the Arabic seven
    ("sub", "7:web"),
    ("sub", "1" * 20),
    ("typ", "refresh"),
    ("typ", "Access"),
    ("iat", True),
    ("iat", "1"),
    ("iat", -1),
    ("iat", {}),
    ("exp", True),
    ("exp", "9999999999"),
    ("exp", 1e300),
    ("iss", "somebody"),
    ("iss", ["portcullis"]),
    ("aud", "somebody"),
    ("aud", ["portcullis"]),
    ("dev", ""),
    ("dev", "WEB"),
    ("dev", "web:1"),
    ("dev", "*"),
    ("dev", "web\n"),
    ("dev", "w" * 33),
    ("user_name", 7),
    ("roles", "user"),
    ("roles", [7]),
    ("permissions", "a:b"),
    ("permissions", [None]),
    ("permissions", {"a:b": True}),
    ("pb", "AQ=="),
    ("nbf", "soon"),
]


@with_each(("claim", "value"), WRONG)
def test_a_claim_of_another_type_or_value_is_refused(tokens: Tokens, claim: str, value: Any) -> None:
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(**{claim: value}), SECRET))


def test_a_null_does_not_stand_for_an_absent_claim(tokens: Tokens) -> None:
    claims = access_claims() | {"pb": None}
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, claims, SECRET))


@with_each("rid", ["", "short", "a" * 65, "a" * 23 + ":", "a" * 23 + "*", "a" * 23 + "\n", 7])
def test_a_refresh_id_of_another_form_is_refused(tokens: Tokens, rid: Any) -> None:
    with pytest.raises(TokenInvalid):
        tokens.verify_refresh(hs256(HEADER, refresh_claims(rid=rid), SECRET))


def test_an_expired_token_is_told_apart_from_a_wrong_one(tokens: Tokens) -> None:
    with pytest.raises(TokenExpired):
        verify_access(tokens, hs256(HEADER, access_claims(iat=1.5, exp=2), SECRET))
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(iat=1.5, exp=2), SECRET + "x"))


def test_a_token_that_expires_before_it_is_issued_is_refused(tokens: Tokens) -> None:
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(iat=now() / 1000, exp=now() / 1000 - 1), SECRET))


def test_an_iat_in_the_future_is_taken_within_the_leeway_only(tokens: Tokens, auth: Auth) -> None:
    def issued_in(seconds: float) -> str:
        return hs256(HEADER, access_claims(iat=now() / 1000 + seconds), SECRET)

    assert verify_access(tokens, issued_in(auth.jwt_leeway - 2))
    with pytest.raises(RefreshRequired):
        verify_access(tokens, issued_in(auth.jwt_leeway + 2))


def test_a_refresh_token_is_taken_whenever_it_was_issued(tokens: Tokens) -> None:
    """The store may have been ahead: what counts is that the id is live, which only the store can say."""
    later = now() + 3_600_000
    token = tokens.issue_refresh(login_id="7", rid="r" * 24, issued=later, ends=later + 1000)

    assert tokens.verify_refresh(token).rid == "r" * 24


def test_a_token_is_refused_before_its_nbf(tokens: Tokens) -> None:
    with pytest.raises(TokenInvalid):
        verify_access(tokens, hs256(HEADER, access_claims(nbf=now() / 1000 + 30), SECRET))


def test_whole_seconds_are_numbers_too(tokens: Tokens) -> None:
    assert verify_access(
        tokens, hs256(HEADER, access_claims(iat=now() // 1000 - 1, exp=now() // 1000 + 60), SECRET)
    )


def test_a_token_of_another_secret_is_refused(auth: Auth) -> None:
    token, _ = issue_access(Tokens(replace(auth, jwt_secret=SECRET[::-1])))
    with pytest.raises(TokenInvalid):
        verify_access(Tokens(auth), token)
