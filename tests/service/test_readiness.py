"""Ready means: users can log in, be authorized, and read and write. What is lost beside that degrades."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from service import __version__
from service.features.embedded.stores import EmbeddedStores
from service.web.observability import readiness
from tests.support.databases import database
from tests.support.inside import Inside, inside_published

TOKEN = "mX3-" * 8
OPERATOR = ("Authorization", f"Bearer {TOKEN}")
PARTS = (
    "database",
    "sessions",
    "policy",
    "clock",
    "files",
    "logs",
    "jobs",
    "disk",
    "certificates",
    "proxy",
)


@pytest.fixture(scope="module")
async def service(
    stores: EmbeddedStores,
    published_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Inside]:
    variables = {
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
        "PORTCULLIS_SERVER__DATA": str(tmp_path_factory.mktemp("data")),
    }
    with pytest.MonkeyPatch.context() as patch, database(stores, published_template) as url:
        patch.setattr(readiness, "EVERY", 0.1)
        async with inside_published(url, module_redis_url, **variables) as running:
            yield running


async def test_a_stranger_reads_words_and_the_operator_reads_the_details(service: Inside) -> None:
    ready = {"status": "ready", "parts": dict.fromkeys(PARTS, "up")}
    for _ in range(200):  # a part that takes long to look at, on a busy machine, is down for a moment
        answer = await service.as_anonymous("GET", "/health/ready")
        if answer.json.get("data") == ready:
            break
        await asyncio.sleep(0.1)
    assert answer.json.get("data") == ready

    answer = await service.as_anonymous("GET", "/health/ready", OPERATOR)
    details = answer.json["data"]["details"]
    assert details["version"] == __version__
    assert details["policy"] == {"revision": 1, "fault": None, "untrusted": None}
    assert [worker["revision"] for worker in details["workers"]] == [1]
    assert details["workers"][0]["worker"] == details["worker"]
    assert abs(details["clock"]["offset"]) < 1
    assert details["logs"]["accepted"] >= 0
    assert int(details["database"]["version"].split(".")[0]) >= 17
    assert details["files"]["store"].endswith("/files")

    with_access_token = await service.ask("GET", "/health/ready")
    assert "details" not in with_access_token.json["data"]
