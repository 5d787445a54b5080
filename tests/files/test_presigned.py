"""Downloads that the object store answers itself, by URLs that it can check."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from service.files.connections import PresignedUrls
from service.files.object_store import object_store
from service.kernel.clock import now
from service.settings import Objstore
from tests.files.forms import PNG, download, uploaded
from tests.files.test_object_store import settings_of
from tests.support.inside import Inside, inside_published
from tests.support.s3 import SECRET_KEY, S3Server
from tests.web.driver import ask

DISPOSITION = "attachment; filename=\"S_d.png\"; filename*=UTF-8''S%C3%BCd.png"


def fetched(url: str, **headers: str) -> httpx.Response:
    # No certificates: reading them takes longer than the request.
    return httpx.get(url, headers=headers, trust_env=False, timeout=20, verify=False)


async def pieces() -> AsyncIterator[bytes]:
    yield PNG


@pytest.fixture
async def service(fresh_url: str, redis_url: str, s3: S3Server) -> AsyncIterator[Inside]:
    """A service that leaves downloads to the store."""
    variables = s3.variables(PORTCULLIS_OBJSTORE__PRESIGNED_LINKS="true")
    async with inside_published(fresh_url, redis_url, **variables) as running:
        yield running


async def test_a_download_is_sent_to_a_url_that_the_store_accepts_and_that_demands_an_attachment(
    service: Inside, s3: S3Server
) -> None:
    data = await uploaded(service, "Süd.png")
    link = await service.data("POST", f"/api/file/{data['id']}/public-link", {})

    for answer in (await download(service, data["id"]), await ask(service._app, "GET", link["url"])):
        url = answer.header("location") or ""
        query = parse_qs(urlsplit(url).query)
        assert (answer.status, answer.body) == (307, b"")
        assert answer.header("cache-control") == "no-store"
        assert url.startswith(s3.endpoint)
        assert query["X-Amz-Expires"] == ["60"]
        assert query["response-content-type"] == ["application/octet-stream"]
        assert query["response-content-disposition"] == [DISPOSITION]
        assert SECRET_KEY not in url
        assert fetched(url).content == PNG
    known = await download(service, data["id"], ("If-None-Match", f'"{data["sha256"]}"'))
    assert known.status == 304


async def test_a_url_that_was_tampered_with_or_has_expired_opens_nothing(s3: S3Server) -> None:
    settings = settings_of(s3)
    await object_store(settings, Path()).put("presigned/one", pieces())
    urls = PresignedUrls(settings)
    good = urls.of("presigned/one", DISPOSITION)

    assert fetched(good).content == PNG
    for url in (
        good.replace("attachment", "inline"),
        good.replace("application%2Foctet-stream", "text%2Fhtml"),
        good.replace("presigned/one", "presigned/two"),
        good.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
        PresignedUrls(replace(settings, secret_key="other")).of("presigned/one", DISPOSITION),
        urls.of("presigned/one", DISPOSITION, now() - timedelta(seconds=61)),
    ):
        assert url != good
        assert fetched(url).status_code in (400, 403)


def test_the_url_names_the_host_and_the_path_that_the_settings_mean() -> None:
    at = datetime(2026, 11, 21, 2, 33, 53, tzinfo=UTC)
    keys = {"access_key": "AKID", "secret_key": "secret", "bucket": "files", "region": "eu-north-1"}

    def start(**changes: str) -> str:
        settings = replace(Objstore(**keys), **changes)  # type: ignore[arg-type]  # all of them are texts
        return PresignedUrls(settings).of("a/b", DISPOSITION, at).partition("?")[0]

    assert start() == "https://s3.eu-north-1.amazonaws.com/files/a/b"
    assert start(addressing="virtual") == "https://files.s3.eu-north-1.amazonaws.com/a/b"
    assert start(endpoint="https://s3.example.com:443/") == "https://s3.example.com/files/a/b"
    assert start(endpoint="http://s3:9000") == "http://s3:9000/files/a/b"
    assert (
        start(endpoint="https://s3.example.com", addressing="virtual") == "https://files.s3.example.com/a/b"
    )
