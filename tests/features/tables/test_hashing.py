"""Many passwords at once: all of them, and no more at a time than there are threads."""

import asyncio
from collections.abc import Iterator

import pytest

from service.authn.passwords import Passwords
from service.errors import Unavailable
from service.settings import Password
from tests.support.cheap_hashes import COSTS


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(Password(max_waiting=1))
    yield made
    made.close()


async def test_each_password_gets_its_own_hash_in_the_order_given() -> None:
    passwords = Passwords(Password(**COSTS))
    words = [f"heron number {n}" for n in range(6)]

    hashes = await passwords.hash_all(words)

    assert len(set(hashes)) == 6
    assert all([await passwords.verify(stored, word) for stored, word in zip(hashes, words, strict=True)])
    assert await passwords.hash_all([]) == []
    passwords.close()


async def test_a_login_finds_room_while_many_are_hashed(passwords: Passwords) -> None:
    many = asyncio.create_task(passwords.hash_all(["a wary heron"] * 12))
    await asyncio.sleep(0)

    assert not await passwords.verify(None, "whatever")
    assert not many.done()
    assert len(await many) == 12


async def test_when_there_is_no_room_left_it_is_told_as_that(passwords: Passwords) -> None:
    many = [asyncio.create_task(passwords.hash_all(["a wary heron"] * 12)) for _ in range(8)]

    with pytest.raises(Unavailable):
        await asyncio.gather(*many)
    await asyncio.gather(*many, return_exceptions=True)
