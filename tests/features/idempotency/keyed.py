"""Requests that create something, under keys of their own."""

import itertools
import secrets
from typing import Any

from tests.support.inside import Inside
from tests.web.driver import Answer

KEPT = ("etag", "location", "content-type")
"""The headers that a repetition has as well."""
_numbers = itertools.count(1)


def key(value: str | None = None) -> tuple[str, str]:
    """Return the header with a key: ``value``, or one that nobody has used."""
    return ("Idempotency-Key", value or secrets.token_hex(16))


def new(path: str) -> dict[str, Any]:
    """Return the body of a request that creates what nobody has created yet."""
    number = next(_numbers)
    bodies: dict[str, dict[str, Any]] = {
        "/api/user": {"userName": f"heron{number}", "nickName": "Heron", "password": "four wary herons"},
        "/api/role": {"roleCode": f"keeper-{number}", "roleName": f"Keeper {number}"},
        "/api/menu": {"menuType": "Button", "title": "Open", "authMark": f"gate:open-{number}"},
        "/api/resource": {
            "resourceName": "Gate",
            "resourceCode": f"gate.{number}",
            "method": "GET",
            "path": f"/api/gate-{number}/{{id}}",
        },
    }
    return bodies[path]


def was_replayed(answer: Answer) -> bool:
    """Whether an answer says that it was sent before."""
    assert answer.header("idempotency-replayed") in (None, "true")
    return answer.header("idempotency-replayed") is not None


async def count(service: Inside, path: str) -> int:
    """Return how many records there are."""
    total: int = (await service.data("GET", f"{path}/list"))["total"]
    return total
