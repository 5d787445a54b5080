"""Tokens remembered by their digest."""

import time
from datetime import UTC, datetime

import pytest

from service.authn.tokens import Tokens
from service.authn.verified import VerifiedTokens
from service.errors import TokenExpired, TokenInvalid
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.settings import Auth
from tests.authn.conftest import SECRET
from tests.authn.keys import hs256
from tests.authn.test_tokens import HEADER, access_claims, issue_access
from tests.support.cases import with_each


@pytest.fixture
def verified(auth: Auth) -> VerifiedTokens:
    return VerifiedTokens(Tokens(auth), most=3)


def token(**changes: object) -> str:
    return hs256(HEADER, access_claims(**changes), SECRET)


def caller(cache: VerifiedTokens, text: str, permission_map: PermissionMap) -> Caller:
    result = cache.lookup(text, permission_map).caller
    assert result is not None
    return result


def test_a_remembered_token_gives_the_same_caller(verified: VerifiedTokens) -> None:
    text, no_map = token(), PermissionMap({})

    assert caller(verified, text, no_map) is caller(verified, text, no_map)


def test_a_remembered_token_expires_all_the_same(auth: Auth) -> None:
    clock = [time.time()]
    cache = VerifiedTokens(Tokens(auth, lambda: clock[0]))
    text, no_map = token(exp=clock[0] + 60), PermissionMap({})
    assert caller(cache, text, no_map).user_id == 7

    clock[0] += 61
    for _ in range(2):
        with pytest.raises(TokenExpired):
            caller(cache, text, no_map)


def test_a_remembered_token_of_a_key_that_has_ended_is_refused() -> None:
    clock = [time.time()]
    ends = datetime.fromtimestamp(clock[0] + 30, UTC)
    rotated = Auth(jwt_secret=SECRET[::-1], jwt_previous_secret=SECRET, jwt_previous_until=ends)
    cache = VerifiedTokens(Tokens(rotated, lambda: clock[0]))
    text, no_map = issue_access(Tokens(Auth(jwt_secret=SECRET)))[0], PermissionMap({})
    assert caller(cache, text, no_map).user_id == 7

    clock[0] += 29
    assert caller(cache, text, no_map).user_id == 7
    clock[0] += 2
    for _ in range(2):
        with pytest.raises(TokenInvalid):
            caller(cache, text, no_map)


def test_no_more_tokens_are_remembered_than_allowed(verified: VerifiedTokens) -> None:
    for number in range(1, 20):
        assert caller(verified, token(sub=str(number)), PermissionMap({})).user_id == number

    assert len(verified._entries) == 3


def test_expired_tokens_leave_when_others_come(auth: Auth) -> None:
    clock = [time.time()]
    cache = VerifiedTokens(Tokens(auth, lambda: clock[0]), most=3)
    for number in (1, 2):
        caller(cache, token(sub=str(number), exp=clock[0] + 60), PermissionMap({}))
    clock[0] += 61
    caller(cache, token(sub="3", exp=clock[0] + 60), PermissionMap({}))

    assert len(cache._entries) == 1


def test_another_map_gives_other_codes_to_the_same_token(verified: VerifiedTokens) -> None:
    """Bit 1 is a new Button's, bit 0 was renamed; the token was issued when only bits 0 and 2 were held."""
    text = token(permissions=None, pb="BQ==")
    old = PermissionMap({"a": 0, "gone": 2})
    new = PermissionMap({"renamed": 0, "new": 1})

    assert caller(verified, text, old).held.codes == {"a", "gone"}
    assert caller(verified, text, new).held.codes == {"renamed"}
    assert caller(verified, text, old).held.codes == {"a", "gone"}


def test_equal_bits_share_one_set_of_codes(verified: VerifiedTokens) -> None:
    bits = PermissionMap({"a": 0})
    first = caller(verified, token(sub="1", permissions=None, pb="AQ=="), bits)
    second = caller(verified, token(sub="2", permissions=None, pb="AQ=="), bits)

    assert first.held is second.held


@with_each("bits", ["A", "AQ", "AQ==\n", "AQ=", "-_==", "AQ==AQ=="])
def test_bits_that_are_no_base64_are_refused(verified: VerifiedTokens, bits: str) -> None:
    with pytest.raises(TokenInvalid):
        caller(verified, token(permissions=None, pb=bits), PermissionMap({"a": 0}))


@with_each("text", ["", "é", "\ud800", "a" * 9000, "a.b.c"])
def test_what_is_no_token_is_refused(verified: VerifiedTokens, text: str) -> None:
    with pytest.raises(TokenInvalid):
        caller(verified, text, PermissionMap({}))


def test_a_token_without_bits_needs_no_map(verified: VerifiedTokens) -> None:
    assert caller(verified, token(), PermissionMap({"a": 0})).held.codes == {"a:b"}


def test_a_header_is_known_by_its_whole_value_alone(auth: Auth) -> None:
    cache, text, no_map = VerifiedTokens(Tokens(auth), prefix="Bearer "), token(), PermissionMap({})
    sent = f"Bearer {text}".encode()
    assert cache.remembered(sent, no_map, time.time()) is None
    entry = cache.lookup(text, no_map)

    assert cache.remembered(sent, no_map, time.time()) is entry
    signature = text.rpartition(".")[2]
    other = "A" if signature[0] != "A" else "B"
    for wrong in (
        text.encode(),
        b"bearer " + text.encode(),
        b"Bearer  " + text.encode(),
        sent + b" ",
        sent + b"," + sent,
        sent[:-1],
        b"DPoP " + text.encode(),
        f"Bearer {text.rpartition('.')[0]}.{other}{signature[1:]}".encode(),
        b"Bearer " + hs256(HEADER, access_claims(), SECRET[::-1]).encode(),
        b"Bearer " + 70_000 * b"a",
    ):
        assert cache.remembered(wrong, no_map, time.time()) is None, wrong


@pytest.mark.parametrize("most", [0, 1])
def test_without_a_cache_no_header_is_known_and_with_one_entry_the_last(auth: Auth, most: int) -> None:
    cache, no_map = VerifiedTokens(Tokens(auth), most, prefix="Bearer "), PermissionMap({})
    texts = [token(sub=str(number)) for number in (1, 2)]
    for text in texts:
        caller(cache, text, no_map)

    known = [cache.remembered(f"Bearer {text}".encode(), no_map, time.time()) is not None for text in texts]
    assert known == [False, most == 1]


def test_a_header_that_is_known_expires_and_is_read_by_the_map_in_force(auth: Auth) -> None:
    clock = [time.time()]
    cache = VerifiedTokens(Tokens(auth, lambda: clock[0]), prefix="")
    text = token(permissions=None, pb="AQ==", exp=clock[0] + 60)
    old, new = PermissionMap({"a": 0}), PermissionMap({"renamed": 0})
    before = cache.lookup(text, old)

    after = cache.remembered(text.encode(), new, clock[0])
    assert after is not None
    assert after.caller is not None
    assert after.caller.held.codes == {"renamed"}
    assert before.caller is not None
    assert before.caller.held.codes == {"a"}  # of a request that still waits
    clock[0] += 61
    assert cache.remembered(text.encode(), new, clock[0]) is None
    with pytest.raises(TokenExpired):
        cache.lookup(text, new)
