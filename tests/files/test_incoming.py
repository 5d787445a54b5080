from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator

import pytest

from service.errors import TooLarge, Unavailable
from service.files.incoming import Incoming, first_of
from service.kernel.media_types import HEAD

pytestmark = pytest.mark.anyio


async def drops(count: int, size: int = 1) -> AsyncGenerator[bytes, None]:
    for _ in range(count):
        yield b"x" * size


class Lease:
    """Counts how often it is renewed, and is lost after ``most`` times."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.renewed = 0

    async def renew(self) -> bool:
        self.renewed += 1
        return self.renewed <= self.most


def incoming(count: int, *, limit: int = 10**9, lease: Lease | None = None, every: float = 3600) -> Incoming:
    kept = lease or Lease(10**9)
    return Incoming(b"head", drops(count), limit=limit, too_much=TooLarge(), renew=kept.renew, every=every)


async def taken(upload: Incoming) -> bytes:
    return b"".join([piece async for piece in upload.pieces()])


async def test_what_passes_is_counted_and_hashed() -> None:
    upload = incoming(3)

    assert await taken(upload) == b"headxxx"
    assert (upload.size, upload.sha256) == (7, hashlib.sha256(b"headxxx").hexdigest())


async def test_one_byte_over_the_limit_is_refused() -> None:
    assert await taken(incoming(3, limit=7)) == b"headxxx"
    with pytest.raises(TooLarge):
        await taken(incoming(4, limit=7))


async def test_a_lease_is_renewed_however_little_arrives_and_not_more_often_than_it_must_be() -> None:
    often, seldom = Lease(10**9), Lease(10**9)

    await taken(incoming(50, lease=often, every=0))
    await taken(incoming(50, lease=seldom))

    assert often.renewed == 50
    assert seldom.renewed == 0


async def test_an_upload_whose_lease_is_lost_ends() -> None:
    with pytest.raises(Unavailable):
        await taken(incoming(50, lease=Lease(3), every=0))


async def test_no_more_is_taken_for_the_beginning_than_it_needs() -> None:
    content = drops(10, HEAD // 2)

    assert len(await first_of(content)) == HEAD
    assert len([piece async for piece in content]) == 8
