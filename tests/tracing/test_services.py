"""Traces of services that are not like the others: without a database, and with a decision log."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.collector import Collector, named
from tests.support.databases import NewDatabase
from tests.support.inside import inside
from tests.tracing.conftest import asked

pytestmark = pytest.mark.anyio

END = b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


async def test_without_the_database_the_transaction_has_the_error_and_the_request_is_503(
    new_database: NewDatabase, seeded_template: str, redis_url: str, collector: Collector
) -> None:
    url = new_database(seeded_template)
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "1",
        "PORTCULLIS_DATABASE__TIMEOUT": "1",
    }
    async with inside(url, redis_url, **variables) as service:
        name = str(conninfo_to_dict(url)["dbname"])
        with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as server:
            server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            try:
                answer, spans = await asked(service, collector, "away-1", "/api/user/1")
            finally:
                server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
    assert answer.status == 503
    request, transaction = named(spans, "GET /api/user/{id}"), named(spans, "transaction")
    assert request.error
    assert request.attributes["error.type"] == "unavailable"
    assert transaction.error
    assert transaction.attributes["error.type"] == "Unavailable"
    assert transaction.parent == request.id


async def test_the_decision_log_and_problems_name_the_trace(
    seeded_database_url: str, redis_url: str, collector: Collector, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "0",
        "PORTCULLIS_POLICY__DECISION_LOG": str(path),
        "PORTCULLIS_POLICY__DECISION_LOG_ALLOWS": "1",
    }
    async with inside(seeded_database_url, redis_url, **variables) as service:
        refused = await service.ask("GET", "/api/user/x", None, ("X-Request-Id", "logged-1"))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    (event,) = [one for one in events if one["request_id"] == "logged-1"]
    assert event["trace_id"] == refused.json["traceId"]
    assert all(span.trace != event["trace_id"] for span in collector.spans)  # the ratio is 0
