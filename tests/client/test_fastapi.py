"""The dependency for FastAPI: who may use a code gets in, and the document tells of the token."""

from collections.abc import AsyncIterator
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI

from service.features.decisions.client import User
from service.features.decisions.client.fastapi_dependency import Refused, answer_problem, needs
from tests.client.decision_points import ALICE, DecisionPoint, decided

POINT = DecisionPoint()
APP = FastAPI(exception_handlers={Refused: answer_problem})
reader = needs(POINT.async_client(), "orders:order:read")


@APP.get("/orders/{number}")
async def read_order(number: int, user: Annotated[User, Depends(reader)]) -> str:
    return f"{user.name} {number}"


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=APP)
    async with httpx.AsyncClient(transport=transport, base_url="http://orders.test") as client:
        yield client


async def test_the_code_is_asked_about_for_the_token(browser: httpx.AsyncClient) -> None:
    POINT.answer, POINT.asked = lambda _: decided(True), []
    answer = await browser.get("/orders/7", headers={"Authorization": f"Bearer {ALICE}"})
    assert (answer.status_code, answer.json()) == (200, "alice 7")
    assert POINT.asked[0][1] == {
        "subject": {"type": "token", "id": ALICE},
        "action": {"name": "use"},
        "resource": {"type": "permission", "id": "orders:order:read"},
    }


async def test_everything_else_is_refused_before_the_operation(browser: httpx.AsyncClient) -> None:
    for status, answer in {
        401: lambda _: decided(False, "subject_not_active"),
        403: lambda _: decided(False, "not_held"),
        503: lambda _: httpx.Response(500),
    }.items():
        POINT.answer = answer
        response = await browser.get("/orders/7", headers={"Authorization": f"Bearer {ALICE}"})
        assert response.status_code == status
        assert response.headers["cache-control"] == "no-store"
        assert ("www-authenticate" in response.headers) == (status == 401)
        assert response.headers["content-type"] == "application/problem+json"
        assert (status == 403) == (response.json().get("required") == ["orders:order:read"])


async def test_without_one_token_nobody_is_asked(browser: httpx.AsyncClient) -> None:
    POINT.answer, POINT.asked = lambda _: decided(True), []
    twice = [("Authorization", f"Bearer {ALICE}")] * 2
    for headers in [], [("Authorization", "Basic YTpi")], twice:
        assert (await browser.get("/orders/7", headers=headers)).status_code == 401
    assert POINT.asked == []


async def test_without_the_handler_the_detail_is_the_problem_document() -> None:
    app = FastAPI()
    app.get("/", dependencies=[Depends(reader)])(lambda: "")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x.test") as client:
        response = await client.get("/")
    assert (response.status_code, response.json()["detail"]["code"]) == (401, "unauthenticated")
    assert response.headers["www-authenticate"] == "Bearer"


def test_the_document_tells_of_the_token() -> None:
    operation = APP.openapi()["paths"]["/orders/{number}"]["get"]
    assert operation["security"] == [{"HTTPBearer": []}]
