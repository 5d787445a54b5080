"""How files are served, listed and deleted."""

import os
from pathlib import Path

import pytest

from service.files.object_store import PART
from tests.files.forms import PDF, PNG, download, send, uploaded
from tests.support.cases import with_each
from tests.support.inside import Inside

DIGITS = b"0123456789"


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("plain-name_1.txt", 'attachment; filename="plain-name_1.txt"'),
        ("q\"uo'te;d.txt", "attachment; filename=\"q_uo_te_d.txt\"; filename*=UTF-8''q%22uo%27te%3Bd.txt"),
        ("Süd 100%.txt", "attachment; filename=\"S_d_100_.txt\"; filename*=UTF-8''S%C3%BCd%20100%25.txt"),
    ],
)
async def test_a_download_is_saved_under_the_name_of_the_upload_and_run_by_nobody(
    shared: Inside, name: str, disposition: str
) -> None:
    data = await uploaded(shared, name, DIGITS)

    answer = await download(shared, data["id"])

    assert answer.body == DIGITS
    assert answer.header("content-disposition") == disposition
    assert answer.header("content-type") == "text/plain"
    assert answer.header("content-length") == "10"
    assert answer.header("etag") == f'"{data["sha256"]}"'
    assert answer.header("accept-ranges") == "bytes"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("content-security-policy") == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert answer.header("cache-control") == "no-store"


@with_each(
    ("given", "body", "content_range"),
    [
        ("bytes=0-0", b"0", "bytes 0-0/10"),
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-99", DIGITS, "bytes 0-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
        ("BYTES= 1-2 ", b"12", "bytes 1-2/10"),
    ],
)
async def test_a_range_is_answered_with_its_bytes_by_either_kind_of_store(
    either: Inside, given: str, body: bytes, content_range: str
) -> None:
    data = await uploaded(either, "digits.txt", DIGITS)

    answer = await download(either, data["id"], ("Range", given))

    assert (answer.status, answer.body) == (206, body)
    assert answer.header("content-range") == content_range
    assert answer.header("content-length") == str(len(body))
    assert answer.header("etag") == f'"{data["sha256"]}"'


@pytest.mark.parametrize("given", ["bytes=10-", "bytes=99-100", "bytes=-0"])
async def test_a_range_without_a_byte_of_the_file_is_told_how_long_the_file_is(
    shared: Inside, given: str
) -> None:
    data = await uploaded(shared, "digits.txt", DIGITS)

    answer = await download(shared, data["id"], ("Range", given))

    assert answer.code == "range_not_satisfiable"
    assert answer.header("content-range") == "bytes */10"


async def test_an_empty_file_has_no_range(shared: Inside) -> None:
    data = await uploaded(shared, "empty.txt", b"")

    for given in ("bytes=0-", "bytes=-5"):
        answer = await download(shared, data["id"], ("Range", given))
        assert answer.header("content-range") == "bytes */0"


@with_each(
    "given",
    ["bytes=0-1,4-5", "bytes=4-2", "bytes=", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=0-1x", "0-1"],
)
async def test_several_ranges_and_what_is_no_range_are_answered_with_the_whole_file(
    shared: Inside, given: str
) -> None:
    data = await uploaded(shared, "digits.txt", DIGITS)

    answer = await download(shared, data["id"], ("Range", given))

    assert (answer.status, answer.body, answer.header("content-range")) == (200, DIGITS, None)


async def test_a_range_deep_in_a_large_file_is_read_to_the_byte(either: Inside) -> None:
    content = PNG + os.urandom(2 * PART)
    data = await uploaded(either, "large.png", content)

    answer = await download(either, data["id"], ("Range", f"bytes={PART}-{PART + 300_000}"))

    assert answer.body == content[PART : PART + 300_001]


async def test_if_range_gives_the_part_only_of_the_very_same_content(shared: Inside) -> None:
    data = await uploaded(shared, "digits.txt", DIGITS)
    part = ("Range", "bytes=2-4")

    same = await download(shared, data["id"], part, ("If-Range", f'"{data["sha256"]}"'))
    for condition in ('"other"', f'W/"{data["sha256"]}"', "Sat, 21 Nov 2026 02:33:53 GMT"):
        other = await download(shared, data["id"], part, ("If-Range", condition))
        assert (other.status, other.body) == (200, DIGITS)

    assert (same.status, same.body) == (206, b"234")


async def test_a_client_that_has_the_content_is_not_sent_it_again(shared: Inside) -> None:
    data = await uploaded(shared, "digits.txt", DIGITS)
    tag = f'"{data["sha256"]}"'

    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = await download(shared, data["id"], ("If-None-Match", known), ("Range", "bytes=0-1"))
        assert (answer.status, answer.body, answer.header("etag")) == (304, b"", tag)
    assert (await download(shared, data["id"], ("If-None-Match", '"other"'))).status == 200


async def test_a_deleted_file_is_gone_for_everybody_with_its_object(service: Inside, tmp_path: Path) -> None:
    data = await uploaded(service)
    kept = await uploaded(service, "kept.pdf", PDF)
    path = f"/api/file/{data['id']}"

    stale = await service.ask("DELETE", path, None, ("If-Match", '"other"'))
    assert stale.code == "precondition_failed"
    assert await service.data("DELETE", path, None, ("If-Match", f'"{data["sha256"]}"')) is None

    for method, target in (("GET", path), ("DELETE", path), ("DELETE", f"{path}/public-link")):
        assert (await service.ask(method, target)).code == "not_found"
    assert (await service.ask("POST", f"{path}/public-link", {})).code == "not_found"
    assert (await service.data("GET", "/api/file/list"))["items"] == [kept]
    assert len([file for file in (tmp_path / "files").rglob("*") if file.is_file()]) == 1


async def test_the_list_filters_and_sorts_by_what_it_names_and_by_nothing_else(service: Inside) -> None:
    await uploaded(service, "b_1.png")
    await uploaded(service, "A.pdf", PDF)
    await uploaded(service, "c%.txt", DIGITS)

    async def names(query: str) -> list[str]:
        page = await service.data("GET", f"/api/file/list?{query}")
        return [item["name"] for item in page["items"]]

    assert await names("sort=name") == ["A.pdf", "b_1.png", "c%.txt"]
    assert await names("sort=-size") == ["b_1.png", "A.pdf", "c%.txt"]
    assert await names("sort=-id&size=2") == ["c%.txt", "A.pdf"]
    assert await names("name=PDF") == ["A.pdf"]
    assert await names("name=%25") == ["c%.txt"]
    assert await names("contentType=image/png") == ["b_1.png"]
    assert await names("ownerId=1&name=.") == ["b_1.png", "A.pdf", "c%.txt"]
    assert await names("ownerId=2") == []
    for query in ("sort=key", "sort=sha256", "ownerId=0", "size=201", "key=x"):
        assert (await service.ask("GET", f"/api/file/list?{query}")).code == "validation_failed"


async def test_an_object_that_was_changed_or_removed_behind_the_service_is_no_file(
    service: Inside, tmp_path: Path
) -> None:
    data = await uploaded(service, "digits.txt", DIGITS)
    (stored,) = (path for path in (tmp_path / "files").rglob("*") if path.is_file())

    stored.write_bytes(DIGITS + b"more")
    assert (await download(service, data["id"])).code == "unavailable"
    stored.unlink()
    assert (await download(service, data["id"])).code == "not_found"


async def test_an_id_that_is_none_is_refused(shared: Inside) -> None:
    for path in ("0", "x", "9" * 20):
        assert (await shared.ask("GET", f"/api/file/{path}")).fields == ["id"]
    assert (await shared.ask("GET", "/api/file/999999")).code == "not_found"
    assert (await shared.ask("PUT", "/api/file/1")).status == 405
    assert (await send(shared, b"", ("Content-Type", "text/plain"))).code == "unsupported_media_type"
