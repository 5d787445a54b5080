"""Jobs are listed, run and paused by request and by command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import variables_for
from tests.support.inside import Inside
from tests.support.running import Ended, portcullis

pytestmark = pytest.mark.anyio


async def job(service: Inside, name: str) -> dict[str, Any]:
    items = (await service.data("GET", "/api/jobs"))["items"]
    (listed_job,) = [entry for entry in items if entry["name"] == name]
    return dict(listed_job)


async def test_a_job_that_is_asked_for_runs_at_once_for_who_asked(service: Inside) -> None:
    before = await job(service, "expired-bans")
    assert (before["runs"], before["paused"], before["interval"]) == ([], False, 86_400)
    asked = await service.data("POST", "/api/jobs/expired-bans/run")
    assert asked["requestedBy"] == "admin"
    async with asyncio.timeout(20):
        while not (now := await job(service, "expired-bans"))["successTime"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (run,) = now["runs"]
    assert (run["outcome"], run["detail"], run["userName"]) == ("done", "0 bans deleted", "admin")
    assert (now["requestedBy"], now["failing"]) == (None, False)


async def test_a_job_is_paused_and_resumed(service: Inside) -> None:
    for paused in (True, False):
        state = await service.data("PUT", "/api/jobs/file-sweep/paused", {"paused": paused})
        assert state["paused"] is paused
        assert (await job(service, "file-sweep"))["paused"] is paused


async def test_an_unknown_job_is_not_found(service: Inside) -> None:
    assert (await service.ask("POST", "/api/jobs/nothing/run")).status == 404
    assert (await service.ask("PUT", "/api/jobs/nothing/paused", {"paused": True})).status == 404


def test_operators_list_run_pause_and_resume_jobs(
    tmp_path: Path, redis_url: str, seeded_database_url: str
) -> None:
    def jobs(*arguments: str) -> Ended:
        variables = variables_for(seeded_database_url, redis_url)
        return portcullis(tmp_path, "jobs", *arguments, "--data", str(tmp_path / "data"), **variables)

    ran = jobs("run", "expired-keys")
    assert (ran.status, ran.output) == (0, "expired-keys: 0 API keys deleted\n"), ran.errors
    assert jobs("pause", "key-reminders").status == 0
    listed = {entry["name"]: entry for entry in json.loads(jobs("list", "--json").output)["items"]}
    assert listed["key-reminders"]["paused"] is True
    assert [run["outcome"] for run in listed["expired-keys"]["runs"]] == ["done"]
    assert jobs("resume", "key-reminders").status == 0
    shown = jobs("list").output
    assert "paused" not in shown
    assert "0 API keys deleted" in shown
    unknown = jobs("run", "nothing")
    assert unknown.status == 1
    assert "there is no job 'nothing': the jobs are log-maintenance," in unknown.errors
