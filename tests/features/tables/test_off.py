"""Without tables in and out, their paths are not found, and nobody can do more than before."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from service.__main__ import main
from tests.support.inside import Inside, inside_published

pytestmark = pytest.mark.anyio

OFF = {"PORTCULLIS_FEATURES__OFF": "tables"}
NOUNS = ("user", "role")


@pytest.fixture
async def without(published_database_url: str, redis_url: str) -> AsyncIterator[Inside]:
    async with inside_published(published_database_url, redis_url, **OFF) as service:
        yield service


@pytest.mark.parametrize("noun", NOUNS)
async def test_no_table_is_taken_for_the_id_of_a_record(without: Inside, noun: str) -> None:
    row = {"userName": "egret", "nickName": "Egret"} if noun == "user" else {"roleCode": "egret"}
    for method, act, body in (
        ("GET", "export", None),
        ("POST", "import", {f"{noun}s": [row]}),
        ("PUT", "export", row),
        ("DELETE", "import", None),
    ):
        answer = await without.ask(method, f"/api/{noun}/{act}", body)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert "egret" not in str(await without.data("GET", f"/api/{noun}/list"))


async def test_the_document_has_no_tables_and_the_exports_of_logs_stay(without: Inside) -> None:
    paths = (await without.as_anonymous("GET", "/docs/openapi.json")).json["paths"]
    assert [path for path in paths if path.endswith(("/export", "/import"))] == [
        "/api/operation-log/export",
        "/api/login-log/export",
    ]
    assert (await without.ask("GET", "/api/login-log/export")).status == 200


async def test_the_caller_is_not_offered_what_is_off(without: Inside) -> None:
    operations = str(await without.data("GET", "/api/user/operations"))
    assert "/api/user/import" not in operations
    assert "/api/user/bulk/status" in operations


def test_the_command_says_that_it_is_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORTCULLIS_FEATURES__OFF", "tables")
    assert main(["resource", "import", "openapi.yaml", "--service", "orders"]) == 1
    assert "The feature tables is off" in capsys.readouterr().err
