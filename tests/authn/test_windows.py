"""Until when tokens live whose user's roles begin or end by themselves, and what is kept meanwhile."""

import asyncio
import base64
import json
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.authn.current_rights import CurrentRights
from service.authn.refresh import Refresh
from service.authn.tokens import Tokens
from service.errors import RefreshRequired, TokenExpired
from service.features.decisions.assertions import LIFE, Assertions
from service.features.notices.notices import Notices
from service.features.service_accounts import store_holders as api_keys
from service.kernel.assurance import Authentication
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.authn.conftest import SECRET, Container
from tests.authn.keys import verify_access
from tests.authn.people import execute, log_in
from tests.authn.test_refresh import MAP
from tests.features.service_accounts.test_holders import account, key_of
from tests.support.cases import with_each

pytestmark = pytest.mark.usefixtures("own_database")

WINDOW = "UPDATE sys.user_role SET valid_from = to_timestamp(:begin), valid_until = to_timestamp(:end)"
TIMEOUT = Auth(jwt_secret=SECRET).access_timeout


async def window(parts: Container, *, begin: float | None = None, end: float | None = None) -> None:
    """Give all assignments that window, and mark the administrator as a change of it does."""
    await execute(parts, WINDOW, begin=begin, end=end)
    await parts.store.mark(["1"])


async def test_a_token_ends_with_a_whole_second_at_the_latest_when_a_role_does(parts: Container) -> None:
    end = time.time() + 400.7
    await window(parts, end=end)
    pairs = [await log_in(parts, device) for device in ("web", "ios", "tv")]
    claims = [verify_access(parts.tokens, pair.access_token) for pair in pairs]

    assert all(claim.exp == int(claim.exp) and end - 1 - 0.05 * 401 <= claim.exp <= end for claim in claims)
    assert [pair.expires_in for pair in pairs] == [int(claim.exp - claim.iat) for claim in claims]


async def test_it_ends_when_a_role_begins_too(parts: Container) -> None:
    begin = time.time() + 300.2
    await window(parts, begin=begin)
    claims = verify_access(parts.tokens, (await log_in(parts)).access_token)

    assert claims.roles == ()
    assert begin - 16.1 <= claims.exp <= begin


@pytest.mark.parametrize("later", [1, 3600])
async def test_where_nothing_changes_before_a_token_lives_for_the_whole_time(
    parts: Container, later: int
) -> None:
    """Also where it changes a second later: no random part is taken from it."""
    for _ in range(20):  # a login may take longer than that second, on a busy machine
        begun = time.time()
        await window(parts, end=begun + TIMEOUT + 1 + later)
        life = (await log_in(parts)).expires_in
        if time.time() < begun + 1:
            break

    assert life == TIMEOUT


def test_of_many_tokens_few_end_in_the_same_second() -> None:
    tokens = Tokens(Auth(jwt_secret=SECRET))
    issued, changes_at = int(1000 * time.time()), datetime.fromtimestamp(time.time() + 880, UTC)
    lives = [
        tokens.issue_access(
            login_id="1",
            device="web",
            sid="s",
            user_name="a",
            nick_name="A",
            roles=(),
            permissions=(),
            permission_map=PermissionMap({"*": 0}),
            authentication=Authentication(auth_time=1.0),
            issued=issued,
            ends=issued + 10**9,
            changes_at=changes_at,
        )[1]
        for _ in range(1000)
    ]
    assert 836 <= min(lives) <= max(lives) <= 880
    assert max(map(lives.count, lives)) < 100


async def test_a_right_that_ends_within_a_second_is_waited_out_by_a_login(parts: Container) -> None:
    end = time.time() + 1.2
    await window(parts, end=end)
    pair = await log_in(parts)

    assert end <= parts.tokens.now() <= end + 10
    assert verify_access(parts.tokens, pair.access_token).roles == ()
    assert pair.expires_in == TIMEOUT


async def test_a_right_that_begins_during_a_login_is_in_its_token(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is opened only when what was read of the user no longer holds."""
    begin = time.time() + 3.2
    await window(parts, begin=begin)
    opening = SessionStore.open_session

    async def late(store: SessionStore, *facts: object, **named: object) -> object:
        await asyncio.sleep(max(0.0, begin - 0.4 - time.time()))
        return await opening(store, *facts, **named)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(SessionStore, "open_session", late)
    pair = await log_in(parts)

    assert parts.tokens.now() >= begin
    assert verify_access(parts.tokens, pair.access_token).roles == ("super",)


async def test_a_repeated_refresh_has_the_rights_of_the_repeat(parts: Container, redis_url: str) -> None:
    """A lost answer is repeated after the end: the successor is the same, and its rights are not."""
    async with SessionStore(Redis(url=redis_url), replace(parts.settings, refresh_grace=60)) as lenient:
        repeater = Refresh(parts.database, lenient, parts.tokens, parts.pairs, notices=Notices())
        end = time.time() + 6.1
        await window(parts, end=end)
        pair = await log_in(parts)
        first = await repeater.refresh(pair.refresh_token)
        await asyncio.sleep(max(0.0, end - time.time()))
        again = await repeater.refresh(pair.refresh_token)

    assert again.refresh_token == first.refresh_token
    with pytest.raises(TokenExpired):
        verify_access(parts.tokens, first.access_token)
    assert verify_access(parts.tokens, again.access_token).roles == ()


async def test_an_earlier_end_is_learned_by_the_mark_of_its_change(parts: Container) -> None:
    pair = await log_in(parts)
    await window(parts, end=time.time() + 100)
    with pytest.raises(RefreshRequired):
        await parts.authenticator.authenticate(pair.access_token, MAP)

    assert (await parts.refresh.refresh(pair.refresh_token)).expires_in <= 100


async def test_what_is_kept_of_a_user_is_read_again_when_a_role_ends_though_nothing_marks_it(
    parts: Container,
) -> None:
    current = CurrentRights(parts.database, parts.store)
    await parts.store.clock()
    end = time.time() + 2.2
    await window(parts, end=end)
    held = (await current.of([1]))[1].held.codes
    await asyncio.sleep(max(0.0, end - time.time()) + 0.02)
    # The end is told by the clock of the store, as it was observed.
    await asyncio.sleep(max(0.0, end - parts.store.synchronized.now()) + 0.02)
    left = (await current.of([1]))[1].held.codes
    await current.finish()

    assert (held, left) == (frozenset("*"), frozenset())


async def test_what_is_kept_of_a_key_is_too_and_its_answer_says_until_when_it_holds(
    parts: Container,
) -> None:
    key = await key_of(parts, await account(parts))
    end = time.time() + 2.2
    await window(parts, end=end)
    before = await parts.api_keys.of_key(key)
    await asyncio.sleep(max(0.0, end - time.time()) + 0.02)
    after = await parts.api_keys.of_key(key)

    assert (before.caller.held.codes, after.caller.held.codes) == (frozenset("*"), frozenset())
    assert before.good_until == pytest.approx(end, abs=0.001)
    assert after.good_until is None


async def test_a_request_does_not_share_a_reading_of_before_the_end(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading that began before takes long; who comes after the end waits for another."""
    key = await key_of(parts, await account(parts))
    end = time.time() + 0.6
    await window(parts, end=end)
    read = api_keys.holder

    async def slow(database: object, key_id: int, at: datetime) -> object:
        stored = await read(database, key_id, at)  # type: ignore[arg-type]  # handed through
        await asyncio.sleep(max(0.0, end + 0.3 - time.time()))
        return stored

    monkeypatch.setattr(api_keys, "holder", slow)
    early = asyncio.create_task(parts.api_keys.of_key(key))
    await asyncio.sleep(max(0.0, end + 0.1 - time.time()))
    late = await parts.api_keys.of_key(key)

    assert late.caller.held.codes == set()
    assert (await early).caller.held.codes in ({"*"}, set())


@with_each(("left", "lives"), [(None, LIFE), (1000, LIFE), (20.5, 20), (0.1, 1)])
def test_an_assertion_ends_with_what_its_caller_was_known_by(left: float | None, lives: int) -> None:
    settings = Auth(jwt_secret=SECRET, forward_assertion=True)
    moment = 1_800_000_000.0
    tokens = Tokens(settings, lambda: moment)
    caller = Caller(7, "7", "a", "A", "", ("clerk",), None, 0.0)  # type: ignore[arg-type]  # not asked for
    text = Assertions(settings, tokens).issue(
        "orders", caller, "r1-x", None if left is None else moment + left
    )

    part = text.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert claims["exp"] - claims["iat"] == lives
