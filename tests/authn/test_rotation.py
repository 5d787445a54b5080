"""A new signing key: what the previous one still verifies, until when, and which keys are published."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwk, jwt

from service.authn.csrf import Csrf
from service.authn.signing_keys import signing_keys
from service.authn.tokens import Tokens
from service.endpoints.tokens import KeySet
from service.errors import CsrfFailed, TokenInvalid
from service.settings import Auth, SettingsError
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.authn.conftest import SECRET
from tests.authn.keys import (
    KIND_OF,
    b64,
    hs256,
    key,
    next_key,
    private_pem,
    public_pem,
    settings_for,
    unb64,
    verify_access,
)
from tests.authn.test_tokens import access_claims, issue_access
from tests.web.driver import ask
from tests.web.example_service import OpenGate

NEXT_SECRET = SECRET[::-1]
FUTURE = datetime.now(UTC) + timedelta(days=7)


def header_of(token: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(unb64(token.partition(".")[0]))
    return header


def rotated(before: Auth, folder: Path, until: datetime = FUTURE) -> Auth:
    """Return ``before`` with a new key, and its own key as the previous one."""
    if before.jwt_algorithm.startswith("HS"):
        return replace(
            before, jwt_secret=NEXT_SECRET, jwt_previous_secret=before.jwt_secret, jwt_previous_until=until
        )
    new = next_key(KIND_OF[before.jwt_algorithm])
    (folder / "new.pem").write_bytes(private_pem(new))
    (folder / "new.pem").chmod(0o600)
    (folder / "new.pub").write_bytes(public_pem(new))
    return replace(
        before,
        jwt_private_key=folder / "new.pem",
        jwt_public_key=folder / "new.pub",
        jwt_previous_private_key=before.jwt_private_key,
        jwt_previous_until=until,
    )


ALGORITHMS = pytest.mark.parametrize("algorithm", ["HS256", "RS256", "ES256", "EdDSA"])


@ALGORITHMS
def test_tokens_of_the_previous_key_pass_until_it_ends(algorithm: str, tmp_path: Path) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    now = [time.time()]
    after = Tokens(rotated(before, tmp_path, datetime.fromtimestamp(now[0] + 60, UTC)), lambda: now[0])
    token = issue_access(Tokens(before))[0]
    refresh = Tokens(before).issue_refresh(
        login_id="7", rid="r" * 24, issued=int(now[0] * 1000), ends=int(now[0] * 1000) + 10**9
    )

    assert verify_access(after, token).sub == "7"
    assert after.verify_refresh(refresh).sub == "7"
    now[0] += 61
    for verify, text in ((partial(verify_access, after), token), (after.verify_refresh, refresh)):
        with pytest.raises(TokenInvalid):
            verify(text)


@ALGORITHMS
def test_new_tokens_are_signed_with_the_new_key_alone(algorithm: str, tmp_path: Path) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    after = rotated(before, tmp_path)
    token = issue_access(Tokens(after))[0]

    assert verify_access(Tokens(after), token)
    assert header_of(token)["kid"] == signing_keys(after).kid != signing_keys(before).kid
    with pytest.raises(TokenInvalid):
        verify_access(Tokens(before), token)


@ALGORITHMS
def test_a_key_that_is_not_named_any_more_is_refused_at_once(algorithm: str, tmp_path: Path) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    after = rotated(before, tmp_path)
    stolen = replace(after, jwt_previous_secret="", jwt_previous_private_key=None, jwt_previous_until=None)
    with pytest.raises(TokenInvalid):
        verify_access(Tokens(stolen), issue_access(Tokens(before))[0])


@ALGORITHMS
def test_a_node_that_knows_the_next_key_takes_its_tokens_before_it_signs_with_it(
    algorithm: str, tmp_path: Path
) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    after = rotated(before, tmp_path)
    prepared = replace(
        before,
        jwt_previous_secret=NEXT_SECRET if algorithm == "HS256" else "",
        jwt_previous_private_key=None if algorithm == "HS256" else after.jwt_private_key,
        jwt_previous_until=FUTURE,
    )
    assert verify_access(Tokens(prepared), issue_access(Tokens(after))[0])


def test_a_token_without_kid_is_one_of_the_current_key(auth: Auth, tmp_path: Path) -> None:
    after, header = Tokens(rotated(auth, tmp_path)), {"alg": "HS256", "typ": "JWT"}

    assert verify_access(after, hs256(header, access_claims(), NEXT_SECRET))
    with pytest.raises(TokenInvalid):
        verify_access(after, hs256(header, access_claims(), SECRET))


def test_a_kid_opens_no_other_key_than_its_own(auth: Auth, tmp_path: Path) -> None:
    after = rotated(auth, tmp_path)
    current, previous = (signing_key.kid for signing_key in signing_keys(after).accepted)

    def passes(kid: str, secret: str) -> bool:
        token = hs256({"alg": "HS256", "typ": "JWT", "kid": kid}, access_claims(), secret)
        try:
            return verify_access(Tokens(after), token).sub == "7"
        except TokenInvalid:
            return False

    assert passes(current, NEXT_SECRET)
    assert passes(previous, SECRET)
    assert not passes(current, SECRET)
    assert not passes(previous, NEXT_SECRET)


def test_the_kid_of_a_shared_key_is_no_hash_of_it(auth: Auth) -> None:
    thumbprint = jwk.OctKey.import_key(SECRET.encode()).thumbprint()
    assert signing_keys(auth).kid != thumbprint


@ALGORITHMS
def test_csrf_tokens_of_the_previous_key_pass_until_it_ends(algorithm: str, tmp_path: Path) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    now = [time.time()]
    after = Csrf(rotated(before, tmp_path, datetime.fromtimestamp(now[0] + 60, UTC)), lambda: now[0])
    proof = Csrf(before).issue("7", 1)

    after.check(proof, "7", 1)
    with pytest.raises(CsrfFailed):
        after.check(proof, "8", 1)
    now[0] += 61
    with pytest.raises(CsrfFailed):
        after.check(proof, "7", 1)
    after.check(after.issue("7", 1), "7", 1)
    with pytest.raises(CsrfFailed):
        Csrf(before).check(after.issue("7", 1), "7", 1)


def complaint(settings: Auth) -> str:
    with pytest.raises(SettingsError) as raised:
        signing_keys(settings)
    (fault,) = raised.value.faults
    return f"{fault.name} {fault.message}"


def test_a_previous_key_that_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "ES256", SECRET)
    same = replace(settings, jwt_previous_private_key=settings.jwt_private_key, jwt_previous_until=FUTURE)
    assert complaint(same) == "auth.jwt_previous_private_key is auth.jwt_private_key itself"
    (tmp_path / "old.pem").write_bytes(private_pem(key("RSA")))
    (tmp_path / "old.pem").chmod(0o600)
    other = replace(same, jwt_previous_private_key=tmp_path / "old.pem")
    assert complaint(other).startswith("auth.jwt_previous_private_key must be an EC key")
    (tmp_path / "old.pem").chmod(0o644)
    assert complaint(other).startswith("auth.jwt_previous_private_key is readable by other users")


def test_a_previous_secret_that_is_weak_is_refused_by_name(auth: Auth) -> None:
    weak = replace(auth, jwt_previous_secret="secret", jwt_previous_until=FUTURE)
    assert complaint(weak).startswith("auth.jwt_previous_secret must be at least")


def published(tokens: Tokens) -> RequestMiddleware:
    app = Application()
    Routes(app, OpenGate()).add_outside("/.well-known/jwks.json", KeySet(tokens))
    return RequestMiddleware(app)


@pytest.mark.filterwarnings("ignore:EdDSA")
@pytest.mark.parametrize("algorithm", [*KIND_OF])
async def test_published_keys_verify_the_tokens_and_are_public(algorithm: str, tmp_path: Path) -> None:
    before = settings_for(tmp_path, algorithm, SECRET)
    now = [time.time()]
    after = Tokens(rotated(before, tmp_path, datetime.fromtimestamp(now[0] + 60, UTC)), lambda: now[0])
    app = published(after)
    answer = await ask(app, "GET", "/.well-known/jwks.json")
    assert (answer.status, answer.header("content-type")) == (200, "application/jwk-set+json")
    key_set = jwk.KeySet.import_key_set(answer.json)
    for token in (issue_access(Tokens(before))[0], issue_access(after)[0]):
        assert jwt.decode(token, key_set, algorithms=[algorithm]).claims["sub"] == "7"
    for entry in answer.json["keys"]:
        assert (entry["use"], entry["alg"]) == ("sig", algorithm)
        assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & entry.keys()
        assert (
            entry["kid"]
            == jwk.import_key({name: entry[name] for name in entry if name != "kid"}).thumbprint()
        )

    now[0] += 61
    (left,) = (await ask(app, "GET", "/.well-known/jwks.json")).json["keys"]
    assert left["kid"] == header_of(issue_access(after)[0])["kid"]


async def test_a_shared_key_is_never_published(auth: Auth, tmp_path: Path) -> None:
    answer = await ask(published(Tokens(rotated(auth, tmp_path))), "GET", "/.well-known/jwks.json")
    assert answer.json == {"keys": []}
    assert b64(SECRET.encode()).encode() not in answer.body
