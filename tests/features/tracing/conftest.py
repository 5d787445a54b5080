"""A service whose every request is traced, and the collector that gets its spans."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.tracing import export
from tests.features.metrics.test_metrics import TOKEN
from tests.support.collector import Collector, Span, collecting
from tests.support.databases import database
from tests.support.inside import Inside, inside_published
from tests.web.driver import Answer

TRUSTED = "198.51.100.7"
"""The peer whose ``traceparent`` is continued."""


async def of_request(collector: Collector, request_id: str) -> list[Span]:
    """Return the spans of a request, its own last, once they have arrived."""
    while True:
        for span in collector.spans:
            if span.attributes.get("portcullis.request_id") == request_id:
                return [related for related in collector.spans if related.trace == span.trace]
        await asyncio.sleep(0.01)


async def asked(
    service: Inside, collector: Collector, request_id: str, target: str
) -> tuple[Answer, list[Span]]:
    """Send a GET; return its answer and its spans."""
    answer = await service.ask("GET", target, None, ("X-Request-Id", request_id))
    return answer, await of_request(collector, request_id)


@pytest.fixture(scope="module", autouse=True)
def _soon() -> Iterator[None]:
    """Send spans at once, and not after a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "GATHER", 0.01)
        yield


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running_collector:
        yield running_collector


@pytest.fixture(scope="module")
def database_url(stores: EmbeddedStores, published_template: str) -> Iterator[str]:
    with database(stores, published_template) as url:
        yield url


@pytest.fixture(scope="module")
async def traced(database_url: str, module_redis_url: str, collector: Collector) -> AsyncIterator[Inside]:
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "1",
        "PORTCULLIS_TRACING__HEADERS": "api-key=k-7",
        "PORTCULLIS_TRACING__SERVICE_NAME": "gate",
        "PORTCULLIS_TRACING__CONTINUE_FROM": f"{TRUSTED}/32",
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }
    async with inside_published(database_url, module_redis_url, **variables) as service:
        yield service
