"""One-time codes against the vectors of RFC 6238, and how secrets and recovery codes are kept."""

import base64
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from service.errors import Conflict, Unavailable
from service.features.second_factors import recovery_codes, totp
from service.features.second_factors.sealing import ID_BYTES, FactorKeys
from service.settings import Auth
from tests.support.cases import with_each

SEED = b"12345678901234567890"
# RFC 6238, appendix B, SHA-1: the time, and the code of eight digits, of which apps show the last six.
VECTORS = [
    (59, "94287082"),
    (1111111109, "07081804"),
    (1111111111, "14050471"),
    (1234567890, "89005924"),
    (2000000000, "69279037"),
    (20000000000, "65353130"),
]
KEY, OTHER = "k" * 40, "o" * 40


@with_each(("time", "code"), VECTORS)
def test_codes_are_those_of_the_vectors(time: int, code: str) -> None:
    assert totp.code_at(SEED, time // totp.PERIOD) == code[-totp.DIGITS :]
    assert totp.step_of(SEED, code[-totp.DIGITS :], time) == time // totp.PERIOD


@with_each(("away", "accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_code_counts_in_its_step_and_in_those_beside_it(away: int, accepted: bool) -> None:
    now = 1_000_000_000
    step = now // totp.PERIOD + away
    assert totp.step_of(SEED, totp.code_at(SEED, step), now) == (step if accepted else None)


@with_each(
    "code",
    ["", "1", "28708", "2870822", "28708é", "\uff12\uff18\uff17\uff10\uff18\uff12", "\ud800", "287-082"],
)
def test_no_other_text_is_a_code(code: str) -> None:
    assert totp.step_of(SEED, code, 59) is None


@with_each("code", ["287 082", " 287082 ", "28 70 82", "287\u00a0082\n"])
def test_blanks_in_a_code_do_not_matter(code: str) -> None:
    assert totp.step_of(SEED, code, 59) == 59 // totp.PERIOD


def test_the_uri_says_what_apps_need() -> None:
    uri = urlsplit(totp.uri_of(SEED, issuer="Port cullis", account="a:b@example.org"))
    assert (uri.scheme, uri.netloc, unquote(uri.path)) == ("otpauth", "totp", "/Port cullis:a:b@example.org")
    assert uri.path.count(":") == 1
    query = {name: value for name, [value] in parse_qs(uri.query).items()}
    assert base64.b32decode(query.pop("secret")) == SEED
    assert query == {"issuer": "Port cullis", "algorithm": "SHA1", "digits": "6", "period": "30"}


def test_each_secret_is_new_and_as_long_as_the_hash() -> None:
    secrets = {totp.new_secret() for _ in range(50)}
    assert len(secrets) == 50
    assert {len(secret) for secret in secrets} == {20}


def test_ten_recovery_codes_are_new_and_hold_120_bits_each() -> None:
    codes = recovery_codes.new_codes() + recovery_codes.new_codes()
    assert len(set(codes)) == 20
    for code in codes:
        assert len(base64.b32decode(code.replace("-", ""))) == 15


def test_a_recovery_code_is_read_as_people_write_it() -> None:
    code = "OIBCDE-FGHIJK-LMNOPQ-RSTUVW"
    digest = recovery_codes.digest_of(code)
    assert digest is not None
    assert digest == recovery_codes.digest_of(code.lower().replace("-", " \u00a0"))
    assert digest == recovery_codes.digest_of("01" + code[2:])
    assert digest != recovery_codes.digest_of("OIBCDE-FGHIJK-LMNOPQ-RSTUVX")
    for text in ("", "OIBCDE", code + "A", code.replace("W", "é"), "------------------------"):
        assert recovery_codes.digest_of(text) is None


def test_a_sealed_secret_opens_with_its_key_and_for_its_user_only() -> None:
    sealed = FactorKeys(KEY).seal(SEED, "user 1")
    assert SEED not in sealed
    assert FactorKeys(KEY).open(sealed, "user 1") == SEED
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for keys, data, about in [
        (FactorKeys(KEY), sealed, "user 2"),
        (FactorKeys(KEY), changed, "user 1"),
        (FactorKeys(KEY), sealed[:20], "user 1"),
        (FactorKeys(KEY), b"", "user 1"),
        (FactorKeys(OTHER), sealed, "user 1"),
        (FactorKeys(), sealed, "user 1"),
    ]:
        with pytest.raises(Unavailable):
            keys.open(data, about)


def test_the_previous_key_opens_and_the_current_one_seals() -> None:
    before = FactorKeys(KEY)
    keys = FactorKeys.of(Auth(factor_key=OTHER, factor_previous_key=KEY))
    assert keys.open(before.seal(SEED, "user 1"), "user 1") == SEED
    sealed = keys.seal(SEED, "user 1")
    assert sealed[:ID_BYTES] == keys.current == FactorKeys(OTHER).current != before.current


def test_without_a_key_nothing_is_sealed() -> None:
    keys = FactorKeys.of(Auth())
    assert keys.current is None
    with pytest.raises(Conflict):
        keys.seal(SEED, "user 1")
