"""The logs of the whole service, as its operators run it."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.support.running import portcullis, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

CALLS = 200


def explain(client: httpx.Client, header: dict[str, str], number: int) -> str | None:
    """Call a logged operation; return the id of the request once it was answered."""
    try:
        question = {"userName": ADMINISTRATOR, "method": "GET", "path": f"/api/thing/{number}"}
        answer = client.post("/api/policy/explain", json=question, headers=header)
    except httpx.HTTPError:
        return None  # the service stops
    request_id: str = answer.headers["x-request-id"]
    return request_id


def test_every_call_that_was_answered_has_its_entry_when_the_service_has_stopped_amid_them(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    environ: dict[str, Any] = {
        "DATABASE_URL": published_database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_LOG__FORMAT": "json",
    }
    with running(tmp_path, "--workers", "2", **environ) as service, service.client() as client:
        credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        token = client.post("/api/auth/login", json=credentials).json()["data"]["accessToken"]
        header = {"Authorization": f"Bearer {token}"}
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(explain, client, header, number) for number in range(CALLS)]
            assert calls[CALLS // 2].result() is not None
            assert service.stop() == 0
            answered = {decision_id for context in calls if (decision_id := context.result()) is not None}
        closed = [line for line in service.log if line["event"] == "the logs are closed"]
        heads = [line for line in service.log if line["event"] == "head of a log"]
    assert len(answered) > CALLS // 2
    assert [line["waiting"] + line["dropped"] for line in closed] == [0, 0]
    assert {head["log"] for head in heads} == {"operation_log", "login_log"}
    with psycopg.connect(published_database_url) as connection:
        rows = connection.execute("SELECT request_id FROM sys.operation_log").fetchall()
        months = connection.execute("SELECT count(*) FROM ONLY sys.operation_log_default").fetchone()
    assert answered - {row[0] for row in rows} == set()
    assert months == (0,)
    (tmp_path / "kept.log").write_text(service.output)
    verified = portcullis(tmp_path, "audit", "verify", "--heads", "kept.log", **environ)
    assert (verified.status, verified.errors) == (0, "")
