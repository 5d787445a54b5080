"""How much may be uploaded: by one file, by one user, at the same time, and how it is counted."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from service.errors import TooLarge, Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.features.files.uploads import Incoming, first_of
from service.kernel.media_types import HEAD
from tests.files.forms import PNG, disposition, form, in_pieces, send, send_slowly, upload, uploaded
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own

RACERS = 30
PICTURE = PNG + bytes(40_000)


@pytest.fixture(scope="module")
async def _limited(
    request: pytest.FixtureRequest,
    stores: EmbeddedStores,
    published_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Inside]:
    variables = {f"PORTCULLIS_UPLOAD__{name}".upper(): str(value) for name, value in request.param.items()}
    data = {"PORTCULLIS_SERVER__DATA": str(tmp_path_factory.mktemp("data"))}
    async with inside_own(stores, published_template, **data, **variables) as running:
        yield running


@pytest.fixture
def limited(_limited: Inside) -> Inside:
    """A service with limits and without files: the parameter holds settings of the section ``upload``.

    Tests with the same limits share it.
    """
    with psycopg.connect(_limited.database_url) as connection:
        connection.execute("DELETE FROM sys.file")
    return _limited


def limits(**limits: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("_limited", [limits], indirect=True, ids=[str(limits)])


ONE_FILE = limits(user_bytes=len(PICTURE) + 100)
TEN_FILES = limits(user_bytes=10 * len(PICTURE) + 1000)
LARGEST = limits(max_bytes=len(PICTURE), idle_timeout=1)


def kept(service: Inside) -> tuple[int, int]:
    """Return the number and the bytes of all files; no row may be of any other state."""
    connection = service.beside()
    assert connection.execute("SELECT 1 FROM sys.file WHERE state <> 'stored'").fetchone() is None
    totals = connection.execute("SELECT count(*), coalesce(sum(size), 0)::bigint FROM sys.file").fetchone()
    assert totals is not None
    return totals[0], totals[1]


async def logged_in_as_eve(service: Inside) -> str:
    """Make a second user who may upload, and return her access token."""
    connection = service.beside()
    connection.execute(
        'INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash)'
        " SELECT 'eve', 'eve', 'Eve', password_hash FROM sys.\"user\""
    )
    connection.execute(
        "INSERT INTO sys.user_role (user_id, role_id) SELECT u.id, r.id"
        " FROM sys.\"user\" u, sys.role r WHERE u.user_name = 'eve' AND r.role_code = 'admin'"
    )
    return await service.log_in("eve")


@LARGEST
async def test_a_file_of_the_largest_size_is_taken_and_one_byte_more_is_not(limited: Inside) -> None:
    assert (await upload(limited, content=PICTURE)).status == 201

    for declared in (True, False):
        body = form(PICTURE + b"x", disposition("a.png"))
        answer = await send(limited, in_pieces(body), declared=len(body) if declared else None)
        assert answer.code == "too_large"
        assert answer.header("connection") == "close"
    assert kept(limited) == (1, len(PICTURE))


@LARGEST
async def test_a_file_that_is_declared_too_large_is_refused_before_it_is_read(limited: Inside) -> None:
    asked = 0

    async def never() -> AsyncIterator[bytes]:
        nonlocal asked
        asked += 1
        yield b"x"

    answer = await send_slowly(limited, never(), declared=10**12)

    assert answer.code == "too_large"
    assert asked <= 1  # Falcon itself takes the first piece


@TEN_FILES
async def test_uploads_that_race_never_exceed_the_quota_together(limited: Inside) -> None:
    answers = await asyncio.gather(*(upload(limited, f"{n}.png", PICTURE) for n in range(RACERS)))

    refused = [answer.code for answer in answers if answer.status != 201]
    files, size = kept(limited)
    assert set(refused) == {"quota_exceeded"}
    assert files == RACERS - len(refused)
    assert 8 <= files <= 10  # what is declared is reserved, and that is a little more than the file
    assert size <= 10 * len(PICTURE)


@TEN_FILES
async def test_uploads_of_unknown_length_that_race_never_exceed_the_quota_together(limited: Inside) -> None:
    body = form(PICTURE, disposition("a.png"))
    answers = await asyncio.gather(*(send(limited, in_pieces(body, 5000)) for _ in range(RACERS)))

    refused = [answer.code for answer in answers if answer.status != 201]
    assert set(refused) == {"quota_exceeded"}
    assert 1 <= kept(limited)[0] <= 10


@limits(user_files=7)
async def test_uploads_that_race_never_exceed_the_number_of_files(limited: Inside) -> None:
    answers = await asyncio.gather(*(upload(limited) for _ in range(RACERS)))

    assert sorted(answer.status for answer in answers) == [201] * 7 + [413] * (RACERS - 7)
    assert kept(limited)[0] == 7


@ONE_FILE
async def test_a_quota_is_a_users_own_and_deleting_gives_it_back(limited: Inside) -> None:
    first = await uploaded(limited, content=PICTURE)
    assert (await upload(limited, content=PICTURE)).code == "quota_exceeded"

    eve = await logged_in_as_eve(limited)
    assert (await upload(limited, content=PICTURE, token=eve)).json["data"]["ownerName"] == "eve"

    await limited.data("DELETE", f"/api/file/{first['id']}")
    assert (await upload(limited, content=PICTURE)).status == 201


@ONE_FILE
async def test_an_upload_under_way_counts_and_one_that_was_broken_off_does_not(limited: Inside) -> None:
    body = form(PICTURE, disposition("a.png"))
    half_way, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:20_000]
        half_way.set()
        await go_on.wait()
        raise ConnectionResetError

    running = asyncio.create_task(send_slowly(limited, slowly(), declared=len(body)))
    await half_way.wait()
    assert (await upload(limited, content=PICTURE)).code == "quota_exceeded"
    go_on.set()
    with capture_logs():
        assert (await running).status == 500

    assert (await upload(limited, content=PICTURE)).status == 201


@ONE_FILE
async def test_a_reservation_counts_until_its_lease_is_over(limited: Inside) -> None:
    with psycopg.connect(limited.database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO sys.file (key, name, size, content_type, owner_id, state, lease_time)"
            " VALUES ('lost', 'lost.png', 1000, 'image/png', 1, 'pending', now() + interval '1 minute')"
        )
        assert (await upload(limited, content=PICTURE)).code == "quota_exceeded"
        connection.execute("UPDATE sys.file SET lease_time = now()")

    assert (await upload(limited, content=PICTURE)).status == 201


@LARGEST
async def test_a_client_that_falls_silent_is_not_waited_for(limited: Inside) -> None:
    async def silent() -> AsyncIterator[bytes]:
        yield form(PICTURE, disposition("a.png"))[:20_000]
        await asyncio.Event().wait()

    answer = await send_slowly(limited, silent())

    assert answer.code == "bad_request"
    assert answer.header("connection") == "close"
    assert kept(limited) == (0, 0)


@limits(concurrent=1)
async def test_uploads_wait_for_their_turn(limited: Inside) -> None:
    answers = await asyncio.gather(*(upload(limited) for _ in range(10)))

    assert [answer.status for answer in answers] == [201] * 10


@limits(concurrent=2)
async def test_a_slow_user_does_not_take_the_turns_of_others(limited: Inside) -> None:
    eve = await logged_in_as_eve(limited)
    half_way, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield form(PICTURE, disposition("a.png"))[:20_000]
        half_way.set()
        await go_on.wait()
        yield form(PICTURE, disposition("a.png"))[20_000:]

    slow = [asyncio.create_task(send_slowly(limited, slowly())) for _ in range(2)]
    await half_way.wait()
    assert (await upload(limited, token=eve)).status == 201
    assert not any(task.done() for task in slow)

    go_on.set()
    assert [answer.status for answer in await asyncio.gather(*slow)] == [201, 201]


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
