"""How often one may try."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis as Client

from service.authn.throttle import ACCOUNT, SECOND_FACTOR, Throttle
from service.errors import RateLimited, Unavailable
from service.keyspace import SessionStore, keys
from service.keyspace.scripts import text_of
from service.settings import Auth, Redis
from service.settings import Throttle as Settings

SETTINGS = Settings(login_account=3, login_address=8, refresh_account=2, refresh_address=4)


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[SessionStore]:
    async with SessionStore(Redis(url=redis_url), Auth()) as store:
        yield store


@pytest.fixture
def throttle(store: SessionStore) -> Throttle:
    return Throttle(SETTINGS, store.counters)


async def refused(
    throttle: Throttle, user_name: str = "ann", address: str = "10.0.0.1", agent: str = "a"
) -> bool:
    try:
        await throttle.login(user_name, address, agent)
    except RateLimited:
        return True
    return False


async def test_one_attempt_too_many_at_an_account_is_refused_from_everywhere(throttle: Throttle) -> None:
    assert [await refused(throttle, address=f"10.0.0.{number}") for number in range(5)] == [
        False,
        False,
        False,
        True,
        True,
    ]


async def test_other_accounts_are_not_refused(throttle: Throttle) -> None:
    for number in range(4):
        await refused(throttle, address=f"10.0.0.{number}")

    assert not await refused(throttle, "bob")


async def test_spellings_of_one_name_are_one_account(throttle: Throttle) -> None:
    tried = [await refused(throttle, name) for name in ("ann", "ANN", "\uff41\uff4e\uff4e", "Ann")]

    assert tried == [False, False, False, True]


async def test_one_address_may_not_try_many_accounts(throttle: Throttle) -> None:
    tried = [await refused(throttle, f"user{number}") for number in range(10)]

    assert tried == [False] * 8 + [True] * 2
    assert not await refused(throttle, "user11", address="10.0.0.2")


async def test_addresses_of_one_ipv6_network_count_together(throttle: Throttle) -> None:
    tried = [
        await refused(throttle, f"user{number}", address=f"2001:db8::{number + 1:x}") for number in range(10)
    ]

    assert tried == [False] * 8 + [True] * 2
    assert not await refused(throttle, "user11", address="2001:db8:0:1::1")


async def test_a_known_device_gets_in_while_strangers_hammer_the_account(throttle: Throttle) -> None:
    attempt = await throttle.login("ann", "10.0.0.1", "her phone")
    await attempt.succeeded()
    for number in range(20):
        await refused(throttle, address=f"10.0.1.{number}", agent="her phone")

    assert await refused(throttle, address="10.0.1.99")
    assert not await refused(throttle, address="10.0.0.1", agent="her phone")


async def test_a_sign_in_that_nobody_guesses_makes_the_device_known_and_gives_strangers_no_tries_back(
    throttle: Throttle,
) -> None:
    for number in range(4):
        await refused(throttle, address=f"10.0.1.{number}")
    attempt = await throttle.second_factor("ann", "10.0.0.1", "her phone", guessed=False)
    await attempt.succeeded()

    assert await refused(throttle, address="10.0.1.99")
    assert not await refused(throttle, address="10.0.0.1", agent="her phone")


async def test_a_recovery_code_beside_a_link_is_counted_and_gives_no_tries_back(throttle: Throttle) -> None:
    for _ in range(Settings().second_factor):
        attempt = await throttle.second_factor("ann", "10.0.0.1", "a", guessed=False, counted=True)
    await attempt.succeeded()
    with pytest.raises(RateLimited):
        await throttle.second_factor("ann", "10.0.0.2", "b", guessed=True)


async def test_an_address_is_favoured_after_a_login_from_it_whatever_the_account(throttle: Throttle) -> None:
    first = await throttle.login("ann", "10.0.0.1", "her phone")
    await first.succeeded()

    assert not first.favoured
    assert (await throttle.login("bob", "10.0.0.1", "his phone")).favoured
    assert not (await throttle.login("ann", "10.0.0.2", "her phone")).favoured


async def test_a_known_device_may_not_try_for_ever_either(throttle: Throttle) -> None:
    await (await throttle.login("ann", "10.0.0.1", "her phone")).succeeded()
    tried = [await refused(throttle, agent="her phone") for _ in range(4)]

    assert tried == [False, False, False, True]


async def test_a_device_known_to_one_account_is_a_stranger_to_others(throttle: Throttle) -> None:
    await (await throttle.login("ann", "10.0.0.1", "her phone")).succeeded()
    for number in range(3):
        await refused(throttle, "bob", address=f"10.0.1.{number}")

    assert await refused(throttle, "bob", agent="her phone")


async def test_a_success_starts_the_accounts_count_anew_but_not_the_addresss(throttle: Throttle) -> None:
    for number in range(8):
        attempt = await throttle.login("ann", "10.0.0.1", f"agent {number}")
        await attempt.succeeded()

    assert await refused(throttle)
    assert not await refused(throttle, address="10.0.0.2")


@pytest.mark.parametrize("ahead", [900, 3600])
async def test_attempts_counted_while_the_store_was_ahead_are_forgotten_as_soon_as_others(
    store: SessionStore, redis_url: str, ahead: int
) -> None:
    """The counters that they leave end ``ahead`` seconds later than any other."""
    throttle = Throttle(replace(SETTINGS, login_address=1000), store.counters)
    async with Client.from_url(redis_url) as client:

        async def pass_by(seconds: int) -> None:
            for key in await client.keys("rate:*"):
                await client.pexpire(key, await client.pttl(key) - 1000 * seconds)

        for _ in range(2):  # the window before counts too
            assert [await refused(throttle) for _ in range(4)][-1]
            await pass_by(SETTINGS.window + 1)
        assert [await refused(throttle) for _ in range(4)][-1]
        await pass_by(-ahead)
        assert await refused(throttle)
        await pass_by(2 * SETTINGS.window + 1)

    assert not await refused(throttle)


async def test_parallel_attempts_are_counted_one_by_one(store: SessionStore) -> None:
    throttle = Throttle(replace(SETTINGS, login_address=1000), store.counters)
    tried = await asyncio.gather(*(refused(throttle) for _ in range(50)))

    assert sorted(tried) == [False] * 3 + [True] * 47


async def test_a_refusal_says_how_long_to_wait(throttle: Throttle) -> None:
    for _ in range(3):
        await throttle.login("ann", "10.0.0.1", "a")
    with pytest.raises(RateLimited) as raised:
        await throttle.login("ann", "10.0.0.1", "a")

    assert 1 <= int(raised.value.headers["Retry-After"]) <= SETTINGS.window


async def test_who_is_refused_at_once_waits_a_window_and_no_longer(store: SessionStore) -> None:
    # Four at once are often counted within one millisecond.
    hits = [store.counters.hit(3, SETTINGS.window, f"account {number // 4}") for number in range(400)]
    waits = [wait for wait in await asyncio.gather(*hits) if wait is not None]

    assert len(waits) == 100
    assert set(waits) == {SETTINGS.window}


# All in one script, for which the store stops its clock. It takes the keys, most, the length and 0 as that
# of attempts does, then the counts of both windows and the milliseconds that the first has left.
PASSED = """
local function wait() %s end
local function pass_by(milliseconds)
  for _, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left > milliseconds then redis.call('PEXPIRE', key, left - milliseconds)
    else redis.call('DEL', key) end
  end
end
redis.call('DEL', KEYS[1], KEYS[2])
if ARGV[4] ~= '0' then redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[6]) end
redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6] - ARGV[2])
local named = wait()
if named == 0 then return {0, 1, 0} end
pass_by(named - 1)
local before = wait()
pass_by(1)
return {named, before, wait()}
"""


async def test_the_next_attempt_may_be_when_the_refusal_says_and_no_earlier(
    store: SessionStore, redis_url: str
) -> None:
    chance = random.Random(7)
    script, window = PASSED % text_of("attempt"), 100_000
    names = keys.attempts(5, 100, ["x"]), f"{keys.attempts(5, 100, ['x'])}/-1"
    refusals = 0
    async with Client.from_url(redis_url) as client:
        for _ in range(500):
            counts = chance.randrange(6), chance.randrange(1, 6)
            left = chance.randrange(window + 1, 2 * window)
            named, before, after = await client.eval(script, 2, *names, 5, window, 0, *counts, left)
            refusals += named > 0
            assert (before, after) == (1, 0), (counts, left, named)
    assert refusals > 50
    assert await store.counters.hit(1, 60, "y") is None
    assert 59 <= (await store.counters.wait(1, 60, "y") or 0) <= 60


async def test_after_the_window_attempts_are_let_through_again(store: SessionStore) -> None:
    throttle = Throttle(replace(SETTINGS, window=1), store.counters)
    while not await refused(throttle):
        pass
    for _ in range(100):
        if not await refused(throttle):
            return
        await asyncio.sleep(0.05)
    pytest.fail("still refused")


async def test_strangers_do_not_use_up_the_share_of_a_session_which_ends_as_well(throttle: Throttle) -> None:
    for number in range(4):
        await refused(throttle, address=f"10.0.1.{number}")
    for number in range(3):  # wherever who has the session says to be
        await throttle.login("ann", f"10.0.2.{number}", f"agent {number}", session="web")
    with pytest.raises(RateLimited):
        await throttle.login("ann", "10.0.0.1", "her phone", session="web")
    await throttle.login("ann", "10.0.0.1", "her phone", session="ios")
    await throttle.second_factor("ann", "10.0.0.1", "her phone", guessed=True, session="web")


async def test_an_account_is_locked_once_within_the_window_of_the_limit(store: SessionStore) -> None:
    throttle = Throttle(replace(SETTINGS, window=1), store.counters)
    assert [await throttle.locks(SECOND_FACTOR, "ann") for _ in range(2)] == [True, False]
    assert [await throttle.locks(ACCOUNT, "ann") for _ in range(2)] == [True, False]
    for _ in range(100):
        if await throttle.locks(ACCOUNT, "ann"):
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail("never again")
    assert not await throttle.locks(SECOND_FACTOR, "ann")


async def test_refreshes_are_counted_by_address_and_by_account(throttle: Throttle) -> None:
    for _ in range(4):
        await throttle.refresh_from("10.0.0.1")
    with pytest.raises(RateLimited):
        await throttle.refresh_from("10.0.0.1")
    await throttle.refresh_from("10.0.0.2")
    for number in range(2):
        await throttle.refresh_of("1", f"r{number}", live=True)
    with pytest.raises(RateLimited):
        await throttle.refresh_of("1", "r2", live=True)
    await throttle.refresh_of("10", "r", live=True)


async def test_a_spent_token_counts_by_itself(throttle: Throttle) -> None:
    for _ in range(2):
        await throttle.refresh_of("1", "spent", live=False)
    with pytest.raises(RateLimited):
        await throttle.refresh_of("1", "spent", live=False)
    await throttle.refresh_of("1", "other", live=False)
    await throttle.refresh_of("1", "r", live=True)


async def test_switched_off_nothing_is_counted(store: SessionStore, redis_url: str) -> None:
    throttle = Throttle(replace(SETTINGS, enabled=False), store.counters)
    for _ in range(20):
        await (await throttle.login("ann", "10.0.0.1", "a")).succeeded()
        await throttle.refresh_from("10.0.0.1")
        await throttle.refresh_of("1", "r", live=True)

    async with Client.from_url(redis_url) as client:
        assert await client.dbsize() == 0


async def test_every_key_starts_with_rate_and_runs_out_by_itself(throttle: Throttle, redis_url: str) -> None:
    await (await throttle.login("ann", "10.0.0.1", "a")).succeeded()
    await throttle.login("x" * 100_000 + "\x00\ud800", "not an address", "é" * 10_000)
    await throttle.refresh_from("10.0.0.1")
    async with Client.from_url(redis_url, decode_responses=True) as client:
        names = list(map(str, await client.keys("*")))

        assert len(names) >= 4
        assert all(name.startswith("rate:") and len(name) < 200 for name in names)
        assert [name for name in names if await client.ttl(name) <= 0] == []


async def test_without_the_store_nobody_gets_through() -> None:
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), Auth()) as away:
        with pytest.raises(Unavailable):
            await Throttle(SETTINGS, away.counters).login("ann", "10.0.0.1", "a")
