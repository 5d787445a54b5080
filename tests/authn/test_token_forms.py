"""What is refused by its form: the classes of published JWS and JWT attack vectors."""

import base64
import hashlib
import hmac
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from service.authn.tokens import Tokens
from service.errors import TokenInvalid
from service.settings import Auth
from tests.authn.conftest import SECRET
from tests.authn.keys import (
    as_json,
    b64,
    es256_raw,
    hs256,
    key,
    private_pem,
    public_pem,
    rs256,
    settings_for,
    settings_with,
    unb64,
    verify_access,
)
from tests.authn.test_tokens import HEADER, access_claims
from tests.support.cases import with_each

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@pytest.fixture
def tokens(auth: Auth) -> Tokens:
    return Tokens(auth)


@pytest.fixture
def good(tokens: Tokens) -> str:
    """A token that is taken: whatever is made of it and refused is refused for that change."""
    token = hs256(HEADER, access_claims(), SECRET)
    assert verify_access(tokens, token)
    return token


def refused(tokens: Tokens, token: str) -> bool:
    with pytest.raises(TokenInvalid) as raised:
        verify_access(tokens, token)
    return raised.value.detail == TokenInvalid.title  # not a word about why


@with_each("parts", [0, 1, 2, 4, 5])
def test_another_number_of_parts_is_refused(tokens: Tokens, good: str, parts: int) -> None:
    assert refused(tokens, ".".join((good.split(".") * 2)[:parts]))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_an_empty_part_is_refused(tokens: Tokens, good: str, part: int) -> None:
    parts = good.split(".")
    parts[part] = ""
    assert refused(tokens, ".".join(parts))


def test_a_header_that_is_too_long_is_refused(tokens: Tokens) -> None:
    padded = as_json(HEADER) + b" " * 400
    assert refused(tokens, hs256(padded, access_claims(), SECRET))
    assert verify_access(tokens, hs256(padded[:300], access_claims(), SECRET))


def test_a_header_of_the_service_itself_passes_no_other_signature(tokens: Tokens) -> None:
    own = tokens.issue_refresh(login_id="1", rid="r", issued=0, ends=1).partition(".")[0]
    assert verify_access(tokens, hs256(unb64(own), access_claims(), SECRET))
    assert refused(tokens, hs256(unb64(own), access_claims(), SECRET[::-1]))


def test_an_unsigned_token_is_refused(tokens: Tokens) -> None:
    for algorithm in ("none", "None", "NONE", "nOnE", ""):
        signed = f"{b64(as_json({'alg': algorithm, 'typ': 'JWT'}))}.{b64(as_json(access_claims()))}"
        assert refused(tokens, f"{signed}.")
        assert refused(tokens, f"{signed}.AA")


@pytest.mark.parametrize("part", [0, 1, 2])
def test_padded_base64_is_refused(tokens: Tokens, good: str, part: int) -> None:
    parts = good.split(".")
    parts[part] += "=" * (-len(parts[part]) % 4 or 4)
    assert refused(tokens, ".".join(parts))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_unused_bits_of_base64_are_refused(tokens: Tokens, part: int) -> None:
    """Two texts for the same bytes: the last character's spare bits set, the signature made to fit."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    header, payload = as_json(HEADER), as_json(access_claims())
    while len(payload) % 3 == 0:
        payload += b" "
    while len(header) % 3 == 0:
        header += b" "
    parts = [b64(header), b64(payload)]
    if part < 2:
        parts[part] = parts[part][:-1] + alphabet[alphabet.index(parts[part][-1]) + 1]
    signature = hmac.digest(SECRET.encode(), ".".join(parts).encode(), hashlib.sha256)
    parts.append(b64(signature))
    if part == 2:
        parts[2] = parts[2][:-1] + alphabet[alphabet.index(parts[2][-1]) + 1]
    assert unb64(parts[part]) in (header, payload, signature)
    assert refused(tokens, ".".join(parts))


@with_each("letter", [" ", "\n", "\t", "+", "/", "\x00", "é", "。", "%41", "\ud800"])
def test_characters_outside_base64url_are_refused(tokens: Tokens, good: str, letter: str) -> None:
    for token in (letter + good, good + letter, good.replace(".", f"{letter}.", 1)):
        assert refused(tokens, token)


def test_a_part_of_an_impossible_length_is_refused(tokens: Tokens, good: str) -> None:
    header, payload, signature = good.split(".")
    while len(signature) % 4 != 1:
        signature += "A"
    assert refused(tokens, f"{header}.{payload}.{signature}")


def test_standard_base64_instead_of_base64url_is_refused(tokens: Tokens) -> None:
    payload = base64.b64encode(as_json(access_claims(nick_name="???>>>ÿÿÿ"))).rstrip(b"=").decode()
    signed = f"{b64(as_json(HEADER))}.{payload}"
    assert "/" in payload or "+" in payload
    assert refused(tokens, f"{signed}.{b64(hmac.digest(SECRET.encode(), signed.encode(), hashlib.sha256))}")


def test_a_token_over_8_kib_is_refused_unread(tokens: Tokens) -> None:
    assert refused(tokens, hs256(HEADER, access_claims(nick_name="n" * 8192), SECRET))


@with_each(
    "member",
    [
        {"crit": ["exp"]},
        {"crit": []},
        {"jwk": {"kty": "oct", "k": "AAAA"}},
        {"jku": "https://example.org/keys"},
        {"x5u": "https://example.org/cert"},
        {"x5c": ["AAAA"]},
        {"x5t": "AAAA"},
        {"zip": "DEF"},
        {"b64": False, "crit": ["b64"]},
        {"b64": True},
        {"kid": "../../../dev/null"},
        {"kid": ""},
        {"kid": "k" * 65},
        {"kid": None},
        {"kid": 1},
        {"kid": ["k"]},
        {"cty": "JWT"},
        {"enc": "A128GCM"},
        {"unknown": 1},
        {"ALG": "HS256"},
        {"typ": "jwt"},
        {"typ": "at+jwt"},
        {"typ": "JWE"},
        {"typ": None},
        {"typ": ["JWT"]},
        {"alg": "HS384"},
        {"alg": "HS512"},
        {"alg": "hs256"},
        {"alg": "RS256"},
        {"alg": "none"},
        {"alg": None},
        {"alg": ["HS256"]},
        {"alg": {"HS256": 1}},
        {"alg": 256},
    ],
)
def test_a_header_member_that_is_not_for_us_is_refused(tokens: Tokens, member: dict[str, Any]) -> None:
    assert refused(tokens, hs256(HEADER | member, access_claims(), SECRET))


def test_a_header_without_alg_is_refused(tokens: Tokens) -> None:
    assert refused(tokens, hs256({"typ": "JWT"}, access_claims(), SECRET))


def test_a_header_without_typ_is_taken(tokens: Tokens) -> None:
    assert verify_access(tokens, hs256({"alg": "HS256"}, access_claims(), SECRET))


@with_each(
    "header",
    [
        b'{"alg":"HS256","alg":"HS256"}',
        b'{"alg":"none","alg":"HS256"}',
        b'{"alg":"HS256","\\u0061lg":"HS256"}',
        b'{"typ":"JWT","alg":"HS256","typ":"JWT"}',
    ],
)
def test_a_header_member_given_twice_is_refused(tokens: Tokens, header: bytes) -> None:
    assert refused(tokens, hs256(header, access_claims(), SECRET))


@with_each("claim", ["sub", "typ", "exp", "dev", "permissions"])
def test_a_claim_given_twice_is_refused(tokens: Tokens, claim: str) -> None:
    claims = access_claims()
    text = json.dumps(claims)[:-1] + f', "{claim}": {json.dumps(claims[claim])}}}'
    assert refused(tokens, hs256(HEADER, text.encode(), SECRET))


@with_each(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b"{",
        b"{} {}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"a":"\xff"}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}",
        b"{'a':1}",
        b'{"a":1,}',
    ],
)
def test_what_is_no_strict_json_object_is_refused(tokens: Tokens, text: bytes) -> None:
    good = json.dumps(access_claims()).encode()
    inside = good[:-1] + b"," + text[1:] if text.startswith(b'{"a"') else text
    assert refused(tokens, hs256(HEADER, inside, SECRET))
    assert refused(tokens, hs256(text, good, SECRET))


def test_one_changed_bit_anywhere_is_refused(tokens: Tokens, good: str) -> None:
    for place in range(len(good)):
        if good[place] != ".":
            other = "B" if good[place] == "A" else "A"
            assert refused(tokens, good[:place] + other + good[place + 1 :])


@with_each("length", [0, 1, 16, 31, 33, 64])
def test_a_hmac_of_another_length_is_refused(tokens: Tokens, good: str, length: int) -> None:
    header, payload, signature = good.split(".")
    whole = (unb64(signature) * 2)[:length]
    assert refused(tokens, f"{header}.{payload}.{b64(whole)}")


@pytest.mark.parametrize("kind", ["RSA", "P-256", "Ed25519"])
def test_a_public_key_used_as_a_hmac_secret_is_refused(tmp_path: Path, kind: str) -> None:
    algorithm = {"RSA": "RS256", "P-256": "ES256", "Ed25519": "EdDSA"}[kind]
    tokens = Tokens(settings_for(tmp_path, algorithm, SECRET))
    secret = public_pem(key(kind)).decode()
    assert refused(tokens, hs256(HEADER, access_claims(), secret))
    assert refused(tokens, hs256({"alg": algorithm}, access_claims(), secret))


def es256(tmp_path: Path) -> tuple[Tokens, str, int, int]:
    """Return tokens of ES256, a signed part, and the numbers of its right signature."""
    tokens = Tokens(settings_for(tmp_path, "ES256", SECRET))
    signed, r, s = es256_raw({"alg": "ES256"}, access_claims(), key("P-256"))
    assert verify_access(tokens, f"{signed}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}")
    return tokens, signed, r, s


def test_an_ecdsa_signature_of_special_numbers_is_refused(tmp_path: Path) -> None:
    tokens, signed, _, _ = es256(tmp_path)
    special = [0, 1, P256_ORDER - 1, P256_ORDER, P256_ORDER + 1, 2**256 - 1]
    for r, s in product(special, special):
        assert refused(tokens, f"{signed}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"), (r, s)


@with_each("value", [0, 1, P256_ORDER])
@with_each("which", ["r", "s"])
def test_one_special_number_beside_a_right_one_is_refused(tmp_path: Path, which: str, value: int) -> None:
    tokens, signed, r, s = es256(tmp_path)
    pair = (value, s) if which == "r" else (r, value)
    assert refused(tokens, f"{signed}.{b64(b''.join(number.to_bytes(32, 'big') for number in pair))}")


def test_a_number_plus_the_order_is_refused(tmp_path: Path) -> None:
    tokens, signed, r, s = es256(tmp_path)
    if s + P256_ORDER < 2**256:
        assert refused(
            tokens, f"{signed}.{b64(r.to_bytes(32, 'big') + (s + P256_ORDER).to_bytes(32, 'big'))}"
        )
    longer = r.to_bytes(33, "big") + (s + P256_ORDER).to_bytes(33, "big")
    assert refused(tokens, f"{signed}.{b64(longer)}")


def test_an_ecdsa_signature_in_der_is_refused(tmp_path: Path) -> None:
    tokens, signed, r, s = es256(tmp_path)
    assert refused(tokens, f"{signed}.{b64(encode_dss_signature(r, s))}")


@pytest.mark.parametrize("size", [31, 33, 48])
def test_an_ecdsa_signature_of_another_length_is_refused(tmp_path: Path, size: int) -> None:
    tokens, signed, r, s = es256(tmp_path)
    numbers = [number.to_bytes(32, "big").rjust(size, b"\x00")[-size:] for number in (r, s)]
    assert refused(tokens, f"{signed}.{b64(b''.join(numbers))}")


@pytest.mark.parametrize("curve", ["P-384", "secp256k1"])
def test_a_signature_of_another_curve_is_refused(tmp_path: Path, curve: str) -> None:
    tokens, _, _, _ = es256(tmp_path)
    for algorithm in ("ES256", "ES384", "ES256K"):
        signed, r, s = es256_raw({"alg": algorithm}, access_claims(), key(curve))
        size = 48 if curve == "P-384" else 32
        assert refused(tokens, f"{signed}.{b64(r.to_bytes(size, 'big') + s.to_bytes(size, 'big'))}")


def test_a_token_that_brings_its_own_key_is_refused(tmp_path: Path) -> None:
    private = key("RSA")
    tokens = Tokens(settings_with(tmp_path, "RS256", private_pem(private), public_pem(private)))
    assert verify_access(tokens, rs256({"alg": "RS256"}, access_claims(), private))
    numbers = private.public_key().public_numbers()
    jwk = {"kty": "RSA", "n": b64(numbers.n.to_bytes(256, "big")), "e": "AQAB"}
    assert refused(tokens, rs256({"alg": "RS256", "jwk": jwk}, access_claims(), private))


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_a_sibling_of_the_configured_algorithm_is_refused(tmp_path: Path, algorithm: str) -> None:
    private = key("RSA")
    tokens = Tokens(settings_with(tmp_path, "RS256", private_pem(private), public_pem(private)))
    assert refused(tokens, rs256({"alg": algorithm}, access_claims(), private))


@with_each("signature", [b"\x00" * 256, b"\x01" + b"\x00" * 255, b"\xff" * 256, b"\x00"])
def test_an_rsa_signature_of_special_numbers_is_refused(tmp_path: Path, signature: bytes) -> None:
    private = key("RSA")
    tokens = Tokens(settings_with(tmp_path, "RS256", private_pem(private), public_pem(private)))
    signed = rs256({"alg": "RS256"}, access_claims(), private).rpartition(".")[0]
    assert refused(tokens, f"{signed}.{b64(signature)}")


@with_each("change", ["zeros", "short", "long", "s plus order"])
def test_an_eddsa_signature_of_another_form_is_refused(tmp_path: Path, change: str) -> None:
    private = key("Ed25519")
    tokens = Tokens(settings_with(tmp_path, "EdDSA", private_pem(private), public_pem(private)))
    signed = f"{b64(as_json({'alg': 'EdDSA'}))}.{b64(as_json(access_claims()))}"
    signature: bytes = private.sign(signed.encode())
    assert verify_access(tokens, f"{signed}.{b64(signature)}")
    order = 2**252 + 27742317777372353535851937790883648493
    s = int.from_bytes(signature[32:], "little") + order
    changed = {
        "zeros": bytes(64),
        "short": signature[:63],
        "long": signature + b"\x00",
        "s plus order": signature[:32] + s.to_bytes(32, "little"),
    }
    assert refused(tokens, f"{signed}.{b64(changed[change])}")
