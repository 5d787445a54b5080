"""Operations that take no ``Idempotency-Key``, and how they say why."""

from typing import Any

import pytest

from service.features.idempotency.writes import IdempotentWrites
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import MetadataError, login, writes
from service.web.messages.schema import Schema
from service.web.requests.application import Application
from service.web.requests.routes import Routes, RoutesError
from tests.features.idempotency.keyed import count, key, new, was_replayed
from tests.support.inside import Inside
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.web.example_service import OpenGate

LOGIN = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD, "device": "phone"}
FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("/api/auth/login", LOGIN, "tokens, which are never kept"),
        ("/api/auth/refresh", {"refreshToken": "eyJ"}, "tokens, which are never kept"),
        ("/api/file/1/public-link", {"expiresIn": 60}, "the secret of the link, which is never kept"),
        *(
            pytest.param(f"/api/{noun}/import", {f"{noun}s": []}, why, marks=pytest.mark.feature("tables"))
            for noun, why in (("user", "creates none twice"), ("role", "creates none twice"))
        ),
    ],
)
async def test_an_operation_whose_answer_is_not_kept_refuses_a_key(
    shared: Inside, path: str, body: Any, why: str
) -> None:
    answer = await shared.ask("POST", path, body, key())
    assert (answer.status, answer.code) == (400, "bad_request")
    assert answer.json["detail"].endswith(why)


async def test_an_upload_refuses_a_key_and_stores_nothing(shared: Inside) -> None:
    kind = ("Content-Type", "multipart/form-data; boundary=x")
    before = await count(shared, "/api/file")

    answer = await shared.ask_raw("POST", "/api/file", FORM, kind, key())

    assert (answer.status, answer.code) == (400, "bad_request")
    assert await count(shared, "/api/file") == before


async def test_what_can_be_repeated_anyway_ignores_a_key(shared: Inside) -> None:
    made = await shared.data("POST", "/api/role", body := new("/api/role"))
    target, mine = f"/api/role/{made['id']}", key()
    changed = [
        await shared.ask(
            "PUT", target, {"roleName": body["roleName"], "description": text, "enabled": True}, mine
        )
        for text in ("one", "two")
    ]
    deleted = [await shared.ask("DELETE", target, None, mine) for _ in range(2)]

    assert [reply.json["data"]["description"] for reply in changed] == ["one", "two"]
    assert [reply.status for reply in deleted] == [200, 404]
    assert not any(was_replayed(reply) for reply in (*changed, *deleted))


class Body(Schema):
    """What is given."""

    name: str


class Key(Schema):
    """What is answered."""

    secret: str


def answer(_context: RequestContext, _saved: Any) -> Key:
    return Key("s3cret")


class Undecided:
    """Creates something, and says nothing about keys."""

    @login()
    @writes("create", "INSERT", module="key", created="/api/x/{id}")
    async def on_post(self, _context: RequestContext, body: Body) -> Body:
        """Create something."""
        return body


class Secretive:
    """Answers a secret, and says nothing about keys."""

    @login()
    @writes("create", "INSERT", module="key")
    async def on_post(self, _context: RequestContext, body: Body) -> Key:
        """Answer a secret."""
        return Key(body.name)


class Careless:
    """Would have its secrets kept."""

    @login()
    @writes("create", "INSERT", module="key", created="/api/x/{id}", idempotent=answer)
    async def on_post(self, _context: RequestContext, body: Body) -> Key:
        """Answer a secret."""
        return Key(body.name)


@pytest.mark.parametrize("endpoint", [Undecided(), Secretive()])
def test_what_creates_something_or_answers_a_secret_must_say_whether_it_takes_keys(endpoint: object) -> None:
    routes = Routes(Application(), OpenGate())
    routes.add("/api/key", endpoint)
    with pytest.raises(RoutesError, match="neither idempotent nor refuses_keys"):
        routes.check([])


def test_an_answer_that_holds_a_secret_can_not_be_kept() -> None:
    routes = Routes(Application(), OpenGate(), idempotent_writes=IdempotentWrites.__new__(IdempotentWrites))
    with pytest.raises(MetadataError, match="can't be kept"):
        routes.add("/api/key", Careless())
