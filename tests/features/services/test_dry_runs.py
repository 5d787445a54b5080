"""Dry runs of services and openings change nothing, and what they answer is what is then done."""

from typing import Any

from tests.support.inside import Inside

OPENING = {"service": "orders", "code": "@login"}


async def state(service: Inside) -> tuple[Any, Any, int]:
    return (
        (await service.data("GET", "/api/service/list"))["items"],
        (await service.data("GET", "/api/opening/list"))["items"],
        (await service.data("GET", "/api/policy"))["revision"],
    )


def values_of(data: Any) -> Any:
    anew = ("id", "version", "policyRevision", "createTime", "updateTime")
    return {name: value for name, value in data.items() if name not in anew} if data else data


async def test_a_dry_run_of_a_service_or_an_opening_changes_nothing(service: Inside) -> None:
    async def both(method: str, path: str, body: Any = None) -> Any:
        before = await state(service)
        dry = await service.ask(method, f"{path}?dryRun=true", body)
        assert dry.status in (200, 201), dry.body
        assert await state(service) == before, path
        done = await service.ask(method, path, body)
        assert done.status in (200, 201), done.body
        assert await state(service) != before, path
        assert values_of(dry.json["data"]) == values_of(done.json["data"])
        return done.json["data"]

    made = await both("POST", "/api/service", {"name": "orders"})
    place = f"/api/service/{made['id']}"
    await both("PATCH", place, {"ignoreCase": True})
    whole = {"description": None, "ignoreCase": False, "ignoreTrailingSlash": True, "allowPreflight": False}
    await both("PUT", place, whole)
    opening = await both("POST", "/api/opening", OPENING)
    await both("DELETE", f"/api/opening/{opening['id']}")
    await both("DELETE", place)
