"""Published vectors: the service takes no foreign token, and of texts what is JSON and nothing else."""

import json
from base64 import urlsafe_b64decode
from math import inf

import pytest
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from service.authn.signing_keys import VerifyingKey
from service.authn.token_verifying import Verifying, signed_payload, verifying
from service.authn.token_verifying import algorithm_of as service_algorithm
from service.kernel.base64url import decoded
from service.kernel.strict_json import strict_object
from tests.support.inside import Inside
from tests.vectors.vectors import SignedToken, json_texts, signed_tokens
from tests.web.driver import JSON

OURS = ("HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "EdDSA")
TOKENS = signed_tokens()
SENT = [token for token in TOKENS if token.text]
# Published as invalid, but the same text as number 357, which is valid: the padding in question was lost.
PUBLISHED_WRONG = {367, 370}
# Valid as published, and refused by us: an empty payload, or a character that base64url does not have.
STRICTER = {259, 264, 268, 372, 373}


def algorithm_of(token: SignedToken) -> str | None:
    """Return the algorithm that the key is made for, or that a right token of a key without one names."""
    if "alg" in token.key:
        named: str = token.key["alg"]
        return named
    if not token.valid:
        return None
    header = token.text.partition(".")[0]
    return str(json.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4)))["alg"])


def verifies(token: SignedToken, algorithm: str) -> bool:
    """Verify the signature alone, as ``Tokens`` does before it looks at any claim."""
    key = import_key(token.key)

    def key_of(header: str) -> Verifying:
        service_algorithm(algorithm).check_key(key)
        if strict_object(decoded(header)).get("alg") != algorithm:
            raise ValueError("another algorithm")
        return Verifying(VerifyingKey("", key, inf, None), verifying(service_algorithm(algorithm), key))

    try:
        signed_payload(token.text, key_of)
    except (ValueError, JoseError):
        return False
    return True


def test_all_vectors_are_there() -> None:
    assert len(TOKENS) == 401
    assert sum(not token.valid for token in TOKENS) == 355


async def test_no_foreign_token_is_taken_as_an_access_token(shared: Inside) -> None:
    answers = {}
    for token in SENT:
        answer = await shared.as_anonymous("GET", "/api/user/info", ("Authorization", f"Bearer {token.text}"))
        # What is two words, or a list, is not one token of a header.
        two = " " in token.text or "," in token.text
        if (answer.status, answer.code) != ((400, "bad_request") if two else (401, "token_invalid")):
            answers[token.number] = answer.status, answer.code
    assert answers == {}


async def test_no_foreign_token_is_taken_as_a_refresh_token(shared: Inside) -> None:
    answers = {}
    for token in SENT:
        answer = await shared.ask("POST", "/api/auth/refresh", {"refreshToken": token.text})
        answers[token.number] = answer.status, answer.code
    assert {number: seen for number, seen in answers.items() if seen != (401, "token_invalid")} == {}


def test_by_the_key_of_a_vector_only_right_signatures_verify() -> None:
    wrong = []
    judged = 0
    for token in TOKENS:
        algorithm = algorithm_of(token)
        if algorithm in OURS:
            judged += 1
            if verifies(token, algorithm) is not token.valid:
                wrong.append(token.number)
    assert set(wrong) == PUBLISHED_WRONG | STRICTER
    assert judged > 300


# RFC 8259 §4 leaves open what a member given twice means; RFC 7493 §2.3 forbids it, and so do we.
DUPLICATES = {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}
forms = pytest.mark.parametrize("form", [b"%s", b'{"roleName": "A role", "roleCode": %s}'])


async def refusals(service: Inside, kind: str, form: bytes) -> dict[str, str | None]:
    """Send each text of a kind, put into ``form``, as a new role; return the code of each refusal by name."""
    codes = {}
    for name, text in json_texts(kind).items():
        answer = await service.ask_raw("POST", "/api/role", form.replace(b"%s", text), JSON)
        codes[name] = None if answer.status == 201 else answer.code
    return codes


@forms
async def test_what_is_no_json_is_a_bad_request(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "n", form)
    assert len(codes) == 188
    assert {name: code for name, code in codes.items() if code != "bad_request"} == {}


@forms
async def test_json_is_read_and_judged_by_its_type(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "y", form)
    assert len(codes) == 95
    assert {name for name, code in codes.items() if code == "bad_request"} == DUPLICATES
    assert set(codes.values()) <= {"bad_request", "validation_failed", None}


@forms
async def test_what_a_parser_may_treat_either_way_is_refused_in_words(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "i", form)
    assert len(codes) == 35
    assert set(codes.values()) <= {"bad_request", "validation_failed"}
