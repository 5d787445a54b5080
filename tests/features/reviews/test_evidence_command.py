"""``portcullis evidence`` and ``portcullis audit verify --evidence``, as an auditor uses them."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from service.features.audit_proof.checkpoints import AnchoredCheckpoint
from tests.features.access_requests.test_requests import asked, decide, ruled
from tests.features.reviews.test_evidence import archive_and_heads, closed_review, files_of
from tests.features.reviews.test_reviews import close, started
from tests.support.inside import Inside
from tests.support.members import member, until_row
from tests.support.running import Ended, portcullis


async def run(house: Inside, folder: Path, *arguments: str) -> Ended:
    """Run a command about the service."""
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    variables = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": secret}
    return await asyncio.to_thread(portcullis, folder, *arguments, **variables)


def written(folder: Path, heads: list[AnchoredCheckpoint]) -> str:
    """Write heads as the service reports them on standard output; return the name of the file."""
    lines = [
        msgspec.json.encode({"event": "head of a log", **msgspec.to_builtins(head)}).decode()
        for head in heads
    ]
    file = folder / "heads.log"
    file.write_text("\n".join(lines))
    return str(file)


async def test_an_archive_is_verified_offline_against_kept_heads(house: Inside, tmp_path: Path) -> None:
    data, heads = await archive_and_heads(house, await closed_review(house))
    file = tmp_path / "review.zip"
    file.write_bytes(data)
    kept = written(tmp_path, heads)

    good = await asyncio.to_thread(
        portcullis, tmp_path, "audit", "verify", "--evidence", str(file), "--heads", kept
    )
    file.write_bytes(data.replace(b"heron", b"raven", 1))
    bad = await asyncio.to_thread(
        portcullis, tmp_path, "audit", "verify", "--evidence", str(file), "--heads", kept
    )

    assert (good.status, "by the head with number" in good.output) == (0, True), good
    assert (bad.status, "was CHANGED after it was created" in bad.errors) == (1, True), bad


@pytest.mark.feature("access_requests")
async def test_evidence_of_a_review_a_request_and_a_user_is_as_it_was_made(
    house: Inside, tmp_path: Path
) -> None:
    await ruled(house, "system:file:list")
    owl, approver = (
        await member(house, "owl"),
        await member(house, "approver", "system:user:list", "system:file:list"),
    )
    request = await asked(owl)
    await decide(approver, request)
    review = await started(house, owl, onSilence="keep")
    await close(house, review)
    commands = {
        "review.zip": ("review", str(review["id"])),
        "request.zip": ("request", str(request["id"])),
        "user.zip": ("user", "owl", "--from", "2020-01-01", "--to", "2100-01-01"),
    }

    for file, command in commands.items():
        made = await run(house, tmp_path, "evidence", *command, "--output", file)
        assert made.status == 0, made
    for file in commands:
        verified = await run(house, tmp_path, "audit", "verify", "--evidence", file)
        assert verified.status == 0, verified

    of_user = json.loads(files_of((tmp_path / "user.zip").read_bytes())["content.json"])["tables"]
    assert {row[2] for row in of_user["assignments"]["rows"]} == {"owl", "heron"}
    assert "system:file:list" in {row[2] for row in of_user["roleCodes"]["rows"]}
    assert [len(of_user[name]["rows"]) for name in ("requests", "requestDecisions")] == [1, 1]
    of_request = json.loads(files_of((tmp_path / "request.zip").read_bytes())["content.json"])
    assert (of_request["facts"]["state"], len(of_request["tables"]["decisions"]["rows"])) == ("approved", 1)
    assert (await run(house, tmp_path, "evidence", "review", "999999", "--output", "x.zip")).status == 1


async def test_evidence_of_a_user_has_nothing_of_a_deleted_one_of_the_name(
    house: Inside, tmp_path: Path
) -> None:
    body = {"userName": "ruff", "nickName": "Ruff", "password": "four wary herons"}
    former = (await house.data("POST", "/api/user", body))["id"]
    await house.data("PATCH", f"/api/user/{former}", {"phone": "+49 30 1234567"})
    await house.data("DELETE", f"/api/user/{former}")
    number = (await house.data("POST", "/api/user", body))["id"]
    await house.data("PATCH", f"/api/user/{number}", {"phone": "+49 30 7654321"})
    numbers = "SELECT count(*) FROM sys.operation_log WHERE 'user:ruff' = ANY(targets)"
    await until_row(house, numbers, (5,))

    command = ("evidence", "user", "RUFF", "--from", "2020-01-01", "--to", "2100-01-01")
    made = await run(house, tmp_path, *command, "--output", "user.zip")

    assert made.status == 0, made
    archive = b"".join(files_of((tmp_path / "user.zip").read_bytes()).values())
    assert (b"7654321" in archive, b"1234567" in archive) == (True, False)
