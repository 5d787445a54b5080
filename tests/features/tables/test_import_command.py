"""``portcullis resource import`` against a database: what is new is registered, disabled, and only once."""

import secrets
from pathlib import Path

from tests.support.inside import Inside
from tests.support.running import Ended, portcullis

SECRET = secrets.token_urlsafe(48)
DOCUMENT = """
openapi: 3.1.0
info: {title: Orders, version: "1"}
servers: [{url: "https://orders.example/v1"}]
paths:
  /orders/{orderId}:
    get: {summary: Read an order, responses: {"200": {description: ok}}}
    head: {responses: {"204": {description: ok}}}
"""


async def test_an_import_registers_what_is_new_once(service: Inside, redis_url: str, tmp_path: Path) -> None:
    await service.data("POST", "/api/service", {"name": "orders"})
    (tmp_path / "orders.yaml").write_text(DOCUMENT)

    def ended(*more: str) -> Ended:
        stores = {"DATABASE_URL": service.database_url, "REDIS_URL": redis_url, "JWT_SECRET": SECRET}
        named = ("resource", "import", "orders.yaml", "--service", "orders")
        return portcullis(tmp_path, *named, *more, **stores)

    async def registered() -> list[tuple[str, str, bool]]:
        page = await service.data("GET", "/api/resource/list?service=orders")
        return [(resource["method"], resource["path"], resource["enabled"]) for resource in page["items"]]

    rehearsed = ended()
    assert rehearsed.status == 0, rehearsed.errors
    assert await registered() == []
    assert (
        "+ orders GET /v1/orders/{orderId}  Read an order  suggested: orders:order:read" in rehearsed.output
    )
    assert "HEAD /orders/{orderId}  can't be registered" in rehearsed.output

    applied = ended("--apply")
    assert applied.status == 0, applied.errors
    assert await registered() == [("GET", "/v1/orders/{orderId}", False)]

    again = ended("--apply")
    assert (again.status, await registered()) == (0, [("GET", "/v1/orders/{orderId}", False)])
    assert "1 are there already" in again.output
