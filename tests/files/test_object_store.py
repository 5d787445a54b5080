"""One suite for both kinds of object store; then what only an S3 server can do wrong."""

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from service.errors import NotFound, Unavailable
from service.files.bucket import create_bucket
from service.files.connections import endpoint_of
from service.files.object_store import PART, ObjectStore, object_store
from service.settings import Objstore, Server
from tests.support.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

CALLED = {"put", "read", "delete"}
LARGE = os.urandom(PART) * 2 + b"the end"


def settings_of(s3: S3Server, timeout: float = 20.0) -> Objstore:
    """Return the settings for a server; one that serves has answered after ``timeout`` on a busy machine."""
    return Objstore(
        endpoint=s3.endpoint, bucket=BUCKET, access_key=ACCESS_KEY, secret_key=SECRET_KEY, timeout=timeout
    )


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, s3: S3Server, tmp_path: Path) -> ObjectStore:
    return object_store(settings_of(s3) if request.param == "s3" else Objstore(), tmp_path / "files")


@pytest.fixture
def key() -> str:
    return f"{secrets.token_hex(8)}/one"


async def pieces(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(store: ObjectStore, key: str, size: int, start: int = 0, stop: int | None = None) -> bytes:
    stop = size if stop is None else stop
    return b"".join([piece async for piece in store.read(key, size, start, stop)])


async def listed(store: ObjectStore, prefix: str) -> list[str]:
    return [key async for some in store.keys(prefix) for key in some]


async def test_calls_are_counted_by_outcome(tmp_path: Path, key: str) -> None:
    store = object_store(Objstore(), tmp_path / "files")
    await store.put(key, pieces(b"content"))
    await read(store, key, 7)
    with pytest.raises(Unavailable):
        await read(store, key, 8)  # its record is damaged: the store has answered
    await store.delete(key)
    nowhere = object_store(Objstore(endpoint="http://127.0.0.1:9", bucket="none", timeout=0.2), tmp_path)
    with pytest.raises(Unavailable):
        await nowhere.ping()

    assert {call for call, count in store.calls.items() if count} == {(name, "done") for name in CALLED}
    assert {call for call, durations in store.durations.items() if any(durations.buckets)} == CALLED
    assert {call for call, count in nowhere.calls.items() if count} == {("ping", "failed")}


@pytest.mark.parametrize("content", [b"", b"a", LARGE], ids=["nothing", "a byte", "several parts"])
async def test_what_is_put_is_read_again(store: ObjectStore, key: str, content: bytes) -> None:
    await store.put(key, pieces(content))

    assert await read(store, key, len(content)) == content


async def test_a_range_is_read_to_the_byte_whether_the_server_knows_ranges_or_not(
    store: ObjectStore, key: str
) -> None:
    await store.put(key, pieces(LARGE))

    for start, stop in ((0, 1), (1, 11), (PART - 3, PART + 300_000), (len(LARGE) - 1, len(LARGE)), (5, 5)):
        assert await read(store, key, len(LARGE), start, stop) == LARGE[start:stop], (start, stop)


async def test_a_deleted_object_is_gone_and_can_be_deleted_again(store: ObjectStore, key: str) -> None:
    await store.put(key, pieces(b"content"))
    await store.delete(key)
    await store.delete(key)

    with pytest.raises(NotFound):
        await read(store, key, 7)
    assert await listed(store, key.partition("/")[0]) == []


async def test_the_list_holds_what_is_below_the_prefix_and_nothing_else(store: ObjectStore, key: str) -> None:
    prefix = key.partition("/")[0]
    for name in (key, f"{prefix}/two", f"{prefix}-elsewhere/three"):
        await store.put(name, pieces(b"content"))

    assert sorted(await listed(store, prefix)) == sorted([key, f"{prefix}/two"])


async def test_an_object_of_another_size_than_its_record_is_not_read(store: ObjectStore, key: str) -> None:
    await store.put(key, pieces(b"content"))

    for recorded in (6, 8):
        with pytest.raises(Unavailable, match="damaged"):
            await read(store, key, recorded)


async def test_nothing_is_seen_of_an_object_whose_pieces_end_in_an_error(
    store: ObjectStore, key: str
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        async for piece in pieces(LARGE):
            yield piece
        raise ConnectionResetError

    with pytest.raises((ConnectionResetError, Unavailable)):
        await store.put(key, broken())

    assert await listed(store, key.partition("/")[0]) == []


async def test_a_store_that_is_there_passes_the_readiness_check(store: ObjectStore) -> None:
    await store.ping()


async def failing(store: ObjectStore, reason: str) -> None:
    """Claim that every way into the store is Unavailable, and that the log has the reason and no secret."""
    with capture_logs() as lines:
        for attempt in (
            store.ping(),
            store.put("z/none", pieces(b"content")),
            store.put("z/none", pieces(LARGE)),
            read(store, "z/none", 7),
            store.delete("z/none"),
            listed(store, "z"),
        ):
            with pytest.raises(Unavailable):
                await attempt
    assert [line["reason"] for line in lines] == [reason] * 6
    assert not re.search(rf"{SECRET_KEY}|{ACCESS_KEY}|tampered", str(lines))


async def test_wrong_credentials_are_told_to_the_log_and_answered_as_unavailable(s3: S3Server) -> None:
    right = settings_of(s3)

    await failing(
        object_store(replace(right, secret_key=SECRET_KEY + "tampered"), Path()), "SignatureDoesNotMatch"
    )
    await failing(object_store(replace(right, access_key="AKIDtampered"), Path()), "InvalidAccessKeyId")


async def test_a_missing_bucket_is_no_missing_file(s3: S3Server) -> None:
    await failing(object_store(replace(settings_of(s3), bucket="elsewhere"), Path()), "NoSuchBucket")


async def test_a_store_that_is_down_or_silent_is_unavailable_until_it_is_back(own_s3: S3Server) -> None:
    store = object_store(settings_of(own_s3, 0.8), Path())
    await store.put("x/y", pieces(b"content"))

    own_s3.freeze()
    await failing(store, "GenericError")
    own_s3.thaw()
    assert await read(store, "x/y", 7) == b"content"

    own_s3.stop()
    await failing(store, "GenericError")
    own_s3.start()
    assert await read(store, "x/y", 7) == b"content"


async def test_a_slow_store_is_waited_for_as_long_as_it_is_not_silent_for_too_long(own_s3: S3Server) -> None:
    store = object_store(settings_of(own_s3), Path())

    async def at_times() -> AsyncIterator[bytes]:
        async for piece in pieces(LARGE, PART // 2):
            own_s3.freeze()
            asyncio.get_running_loop().call_later(0.1, own_s3.thaw)
            yield piece
            await asyncio.sleep(0.15)

    await store.put("x/slow", at_times())

    assert await read(store, "x/slow", len(LARGE)) == LARGE


async def test_the_bucket_is_made_only_for_those_who_ask_and_not_twice(own_s3: S3Server) -> None:
    settings = replace(settings_of(own_s3), bucket="another")

    create_bucket(settings, Server())
    assert not (own_s3.root / "another").exists()

    for region in ("us-east-1", "eu-north-1"):
        asked = replace(settings, bucket=f"another-{region}", region=region, create_bucket=True)
        with capture_logs() as lines:
            create_bucket(asked, Server())
            create_bucket(asked, Server())
        await object_store(asked, Path()).ping()
        assert [line["event"] for line in lines][:1] == ["bucket made"]


async def test_a_bucket_that_cannot_be_made_holds_nobody_up(own_s3: S3Server) -> None:
    settings = replace(settings_of(own_s3), bucket="another", create_bucket=True)

    with capture_logs() as lines:
        create_bucket(replace(settings, secret_key="tampered"), Server())
        own_s3.stop()
        create_bucket(settings, Server())

    assert [line["event"] for line in lines] == ["bucket not made"] * 2
    assert "tampered" not in str(lines)


def test_the_bucket_stands_in_the_path_or_in_the_host() -> None:
    settings = Objstore(endpoint="https://s3.example.com:9000", bucket="files")

    assert endpoint_of(settings) == "https://s3.example.com:9000"
    assert endpoint_of(replace(settings, addressing="virtual")) == "https://files.s3.example.com:9000"
    assert endpoint_of(Objstore(bucket="files", addressing="virtual")) == ""
