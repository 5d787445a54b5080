"""Argon2id in a bounded queue."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from argon2 import Type
from argon2.low_level import hash_secret
from structlog.testing import capture_logs

from service.authn import passwords as module
from service.authn.passwords import NICENESS, Passwords
from service.errors import Overloaded, Unavailable
from service.settings import Password
from tests.support.cases import with_each
from tests.support.cheap_hashes import COSTS
from tests.support.waiting import eventually_here


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    """Hashes at the least cost, where it is not the cost that matters."""
    passwords = Passwords(Password(**COSTS))
    yield passwords
    passwords.close()


@pytest.fixture
def usual() -> Iterator[Passwords]:
    """Hashes with the settings as they are."""
    passwords = Passwords(Password())
    yield passwords
    passwords.close()


async def test_the_right_password_and_no_other_is_verified(passwords: Passwords) -> None:
    stored = await passwords.hash("gate, chain and winch")

    assert await passwords.verify(stored, "gate, chain and winch")
    assert not await passwords.verify(stored, "gate, chain and winc")
    assert not await passwords.verify(stored, "")


async def test_hashes_are_argon2id_with_the_settings(usual: Passwords) -> None:
    assert (await usual.hash("a password")).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_equal_passwords_have_different_hashes(passwords: Passwords) -> None:
    assert await passwords.hash("a password") != await passwords.hash("a password")


async def test_nobody_is_never_verified_even_with_the_password_of_the_dummy(passwords: Passwords) -> None:
    assert not await passwords.verify(None, "")
    assert not await passwords.verify(None, "a password")


async def test_nobody_costs_a_hash_of_the_same_parameters(passwords: Passwords) -> None:
    assert passwords._nobody.split("$")[1:4] == (await passwords.hash("a password")).split("$")[1:4]


@with_each("stored", ["", "plain", "$argon2id$", "$2b$12$abcdefghijklmnopqrstuv", "*"])
async def test_what_is_no_hash_is_never_verified(passwords: Passwords, stored: str) -> None:
    assert not await passwords.verify(stored, stored)


async def test_passwords_count_to_their_last_character(passwords: Passwords) -> None:
    stored = await passwords.hash("a" * 1023 + "b")

    assert not await passwords.verify(stored, "a" * 1024)
    assert not await passwords.verify(stored, "a" * 1023)


async def test_nul_ends_no_password(passwords: Passwords) -> None:
    stored = await passwords.hash("abc\x00def")

    assert not await passwords.verify(stored, "abc")
    assert not await passwords.verify(stored, "abc\x00xyz")


@pytest.mark.parametrize("password", ["a" * 1025, "€" * 2000, "\ud800"])
async def test_what_no_rule_would_let_in_is_refused_unhashed(passwords: Passwords, password: str) -> None:
    assert not await passwords.verify(None, password)
    with pytest.raises(ValueError, match="exceeds the maximum length"):
        await passwords.hash(password)


@pytest.mark.parametrize(
    ("change", "needed"),
    [({}, False), ({"argon2_memory": 20_000}, True), ({"argon2_time": 3}, True)],
)
async def test_a_hash_of_other_parameters_needs_a_new_one(
    usual: Passwords, change: dict[str, Any], needed: bool
) -> None:
    other = Passwords(Password(**change))
    assert other.needs_rehash(await usual.hash("a password")) is needed
    other.close()


async def test_a_hash_of_another_variant_needs_a_new_one(usual: Passwords) -> None:
    stored = hash_secret(b"a password", b"0123456789abcdef", 2, 19456, 1, 32, Type.I).decode()

    assert usual.needs_rehash(stored)


async def test_one_login_too_many_is_refused_at_once_and_the_others_answered() -> None:
    passwords = Passwords(Password(max_waiting=2, **COSTS))
    goes_on = threading.Event()
    most = passwords._limit
    waiting = [asyncio.ensure_future(passwords._run(goes_on.wait)) for _ in range(most)]
    await asyncio.sleep(0)

    for _ in range(3):
        with pytest.raises(Unavailable):
            await passwords.verify(None, "a password")
    goes_on.set()
    assert await asyncio.gather(*waiting) == [True] * most
    assert await passwords.verify(None, "a password") is False
    passwords.close()


async def test_a_login_that_gave_up_is_counted_until_its_work_ends() -> None:
    passwords = Passwords(Password(max_waiting=1, **COSTS))
    goes_on = threading.Event()
    tasks = [asyncio.ensure_future(passwords._run(goes_on.wait)) for _ in range(passwords._limit)]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        while passwords._pool._work_queue.qsize() > 1:  # noqa: ASYNC110 - until each thread has taken one
            await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    at_work = passwords._busy
    goes_on.set()
    passwords._pool.shutdown(wait=True)

    assert at_work == passwords._threads
    assert passwords._busy == 0


async def test_the_loop_turns_while_passwords_are_hashed(usual: Passwords) -> None:
    turns = 0
    work = asyncio.gather(*(usual.hash("a password") for _ in range(6)))
    while not work.done():
        turns += 1
        await asyncio.sleep(0)
    await work

    assert turns > 20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
async def test_hashes_are_made_at_a_lower_priority_than_requests(passwords: Passwords) -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert await passwords._run(priority) == min(priority() + NICENESS, 19)


async def test_memory_is_given_back_once_when_no_hash_was_made_for_a_while(
    passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back: list[int] = []
    goes_on = threading.Event()
    monkeypatch.setattr(module, "QUIET", 0.02)
    monkeypatch.setattr(module, "give_back_free_memory", lambda: given_back.append(1))

    hashes = asyncio.gather(*(passwords._run(goes_on.wait) for _ in range(6)))
    await asyncio.sleep(0.1)
    assert not given_back
    goes_on.set()
    await hashes
    assert await eventually_here(lambda: bool(given_back))
    await asyncio.sleep(0.1)
    assert given_back == [1]


async def test_places_are_kept_for_those_who_are_favoured_while_many_wait() -> None:
    passwords = Passwords(Password(**COSTS, max_waiting=8))
    stored = await passwords.hash("gate, chain and winch")
    hold = threading.Event()
    real = passwords._matches
    passwords._matches = lambda *known: hold.wait() and real(*known)  # type: ignore[method-assign]
    try:
        flood = [asyncio.create_task(passwords.verify(stored, "wrong", favoured=False)) for _ in range(200)]
        await eventually_here(lambda: sum(task.done() for task in flood) >= 200 - passwords._limit_of_others)
        mine = asyncio.create_task(passwords.verify(stored, "gate, chain and winch", favoured=True))
        await asyncio.sleep(0)
        assert not mine.done()
    finally:
        hold.set()
    refused = [task.exception() for task in flood if task.done()]

    assert await mine is True
    assert {type(error) for error in refused} == {Overloaded}
    assert len(refused) == 200 - (passwords._threads + 8 - 2)
    await asyncio.gather(*flood, return_exceptions=True)
    passwords.close()


async def test_a_flood_of_logins_is_one_line_of_the_log() -> None:
    passwords = Passwords(Password(**COSTS, max_waiting=1))
    with capture_logs() as lines:
        await asyncio.gather(*(passwords.verify(None, "x") for _ in range(300)), return_exceptions=True)
    passwords.close()

    assert [line["log_level"] for line in lines] == ["warning"]
