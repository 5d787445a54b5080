"""Public links: who has one has the file, until it ends, and nobody learns anything from one that has."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.files.forms import PNG, uploaded
from tests.support.inside import Inside, inside_published
from tests.web.driver import Answer, ask


async def linked(service: Inside, file_id: int, **body: Any) -> Any:
    return await service.data("POST", f"/api/file/{file_id}/public-link", body)


async def visit(service: Inside, path: str, *headers: tuple[str, str]) -> Answer:
    """Ask as somebody without a login."""
    return await ask(service._app, "GET", path, *headers)


def problem(answer: Answer) -> Any:
    assert answer.status == 404
    body = answer.json
    del body["requestId"]
    names = [name for name, _ in answer.headers]
    return body, names


async def test_a_holder_of_the_link_gets_the_file_without_a_login(shared: Inside) -> None:
    data = await uploaded(shared)
    link = await linked(shared, data["id"], expiresIn=60)

    answer = await visit(shared, link["url"])
    part = await visit(shared, link["url"], ("Range", "bytes=1-3"))
    known = await visit(shared, link["url"], ("If-None-Match", answer.header("etag") or ""))

    assert link["url"] == f"/api/public/file/{link['token']}"
    assert (answer.status, answer.body) == (200, PNG)
    assert answer.header("content-security-policy") == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert (answer.header("content-disposition") or "").startswith("attachment;")
    assert (part.status, part.body) == (206, PNG[1:4])
    assert known.status == 304
    listed = await shared.data("GET", "/api/file/list?sort=-id")
    assert listed["items"][0]["linkExpireTime"] == link["expireTime"]


async def test_a_token_has_at_least_128_random_bits_and_is_stored_as_a_hash_only(shared: Inside) -> None:
    data = await uploaded(shared)
    tokens = [(await linked(shared, data["id"]))["token"] for _ in range(2)]

    assert tokens[0] != tokens[1]
    assert all(len(base64.urlsafe_b64decode(token + "==")) >= 16 for token in tokens)
    row = shared.beside().execute("SELECT * FROM sys.file WHERE id = %s", [data["id"]]).fetchone()
    assert hashlib.sha256(tokens[1].encode()).hexdigest() in str(row)
    assert tokens[1] not in str(row)


async def test_unknown_expired_replaced_revoked_and_deleted_links_look_the_same(service: Inside) -> None:
    ended = {}
    for way in ("expired", "replaced", "revoked", "deleted"):
        data = await uploaded(service)
        ended[way] = (await linked(service, data["id"]))["url"]
        if way == "expired":
            service.beside().execute(
                "UPDATE sys.file SET token_expire_time = now() WHERE id = %s", [data["id"]]
            )
            listed = await service.data("GET", "/api/file/list")
            assert listed["items"][0]["linkExpireTime"] is None
        elif way == "replaced":
            assert (await visit(service, (await linked(service, data["id"]))["url"])).status == 200
        elif way == "revoked":
            for _ in range(2):
                assert await service.data("DELETE", f"/api/file/{data['id']}/public-link") is None
        else:
            await service.data("DELETE", f"/api/file/{data['id']}")

    unknown = problem(await visit(service, "/api/public/file/" + "A" * 43))
    for path in (*ended.values(), "/api/public/file/x", "/api/public/file/" + "A" * 1900):
        assert problem(await visit(service, path)) == unknown


async def test_the_life_of_a_link_is_the_one_asked_for_or_the_usual_one_and_has_an_end(
    shared: Inside,
) -> None:
    data = await uploaded(shared)

    for body, seconds in (({}, 7 * 86_400), ({"expiresIn": 90 * 86_400}, 90 * 86_400)):
        await linked(shared, data["id"], **body)
        row = (
            shared.beside()
            .execute(
                "SELECT extract(epoch FROM token_expire_time - now()) FROM sys.file WHERE id = %s",
                [data["id"]],
            )
            .fetchone()
        )
        assert row is not None
        assert seconds - 60 < row[0] <= seconds
    for wrong in (0, -1, 90 * 86_400 + 1, 2**31 + 1, "60", 1.5):
        answer = await shared.ask("POST", f"/api/file/{data['id']}/public-link", {"expiresIn": wrong})
        assert answer.fields == ["expiresIn"]


async def test_no_token_stands_in_the_log_or_in_the_operation_log(
    shared: Inside, capsys: pytest.CaptureFixture[str]
) -> None:
    data = await uploaded(shared)
    link = await linked(shared, data["id"])
    assert (await visit(shared, link["url"])).status == 200
    assert (await visit(shared, link["url"] + "x")).status == 404

    written = capsys.readouterr().err
    assert "/api/public/file/{token}" in written
    assert link["token"] not in written
    rows = shared.beside().execute("SELECT l::text FROM sys.operation_log l").fetchall()
    assert link["token"] not in json.dumps(rows)


async def test_the_url_is_whole_where_the_settings_say_how_clients_reach_the_service(
    fresh_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = {
        "PORTCULLIS_SERVER__DATA": str(tmp_path),
        "PORTCULLIS_UPLOAD__PUBLIC_URL": "https://admin.example.com/",
    }
    async with inside_published(fresh_url, redis_url, **variables) as service:
        data = await uploaded(service)
        link = await linked(service, data["id"])

    assert link["url"] == f"https://admin.example.com/api/public/file/{link['token']}"
