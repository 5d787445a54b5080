"""Bodies of ``PUT`` and ``PATCH``, and the entity tags that writes and reads name."""

from typing import Annotated, Any

import falcon.testing
import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType, field

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.errors import BadRequest, PreconditionFailed
from service.features.api_document.document import openapi
from service.web.messages.bodies import is_optional
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login, needs
from service.web.messages.preconditions import answer_tag, content_tag, require_match, version_tag
from service.web.messages.record_schemas import MergePatch, patch_of, replacement_of
from service.web.messages.request import Request
from service.web.messages.schema import Schema
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.web.driver import JSON, Answer, ask
from tests.web.example_service import OpenGate, example

EDITED = ("user", "role", "menu", "resource")
PATCH = ("Content-Type", "application/merge-patch+json")


class Bird(Schema):
    """A new bird."""

    ring_code: Annotated[str, Meta(max_length=8)]
    bird_name: str
    colours: list[str] = field(default_factory=list)
    seen_at: str | None = None
    wild: bool | UnsetType = UNSET


@replacement_of(Bird, fixed=["ring_code"])
class BirdReplacement(Schema):
    """All values of a bird."""


@patch_of(Bird)
class BirdPatch(MergePatch):
    """Some values of a bird."""


class Birds:
    @login()
    async def on_patch(self, _context: RequestContext, body: BirdPatch) -> list[str]:
        """Tell what is changed."""
        return sorted(body.given())


WHOLE: dict[str, Any] = {"birdName": "Heron", "colours": [], "seenAt": None, "wild": True}


def read(kind: type[Schema], **members: Any) -> dict[str, Any]:
    """Return what an edit is given of a body."""
    return msgspec.json.decode(msgspec.json.encode(members), type=kind).given()


def fault(kind: type[Schema], **members: Any) -> str:
    with pytest.raises(msgspec.ValidationError) as refused:
        read(kind, **members)
    return str(refused.value)


def test_a_replacement_has_every_value() -> None:
    assert read(BirdReplacement, **WHOLE) == {
        "bird_name": "Heron",
        "colours": [],
        "seen_at": None,
        "wild": True,
    }
    for name in WHOLE:
        fields = {key: value for key, value in WHOLE.items() if key != name}
        assert fault(BirdReplacement, **fields) == f"Object missing required field `{name}`"


def test_what_never_changes_may_be_left_out_of_a_replacement() -> None:
    assert read(BirdReplacement, **WHOLE, ringCode="a7")["ring_code"] == "a7"


def test_a_patch_has_the_values_that_it_was_sent() -> None:
    assert read(BirdPatch) == {}
    assert read(BirdPatch, seenAt=None, colours=["grey"]) == {"seen_at": None, "colours": ["grey"]}


@with_each("name", ["birdName", "colours", "wild", "ringCode"])
def test_null_removes_optional_values_only(name: str) -> None:
    assert f"at `$.{name}`" in fault(BirdPatch, **{name: None})


@pytest.mark.parametrize("kind", [BirdReplacement, BirdPatch])
def test_constraints_and_unknown_members_are_refused_as_in_a_new_record(kind: type[Schema]) -> None:
    assert "length <= 8" in fault(kind, **WHOLE, ringCode="123456789")
    assert fault(kind, **WHOLE, id=1) == "Object contains unknown field `id`"


def test_both_have_a_name_and_a_description_of_their_own() -> None:
    _, components = msgspec.json.schema_components([BirdReplacement, BirdPatch])
    assert [(name, component["description"]) for name, component in components.items()] == [
        ("BirdReplacement", "All values of a bird."),
        ("BirdPatch", "Some values of a bird."),
    ]
    assert components["BirdReplacement"]["required"] == [*WHOLE]
    assert components["BirdPatch"]["required"] == []


def test_every_record_that_a_put_replaces_has_a_patch_with_the_same_members_codes_and_refusals() -> None:
    known = {operation.object: operation for operation in check_routes(read_shipped()).operations}
    for noun in EDITED:
        put, patch = (known[f"{method} /api/{noun}/{{id}}"] for method in ("PUT", "PATCH"))
        assert put.signature.body is not None
        assert patch.signature.body is not None
        # What a role gives is a record of its own, which a PUT of the role leaves alone.
        beside = {"menu_ids", "permissions"} if noun == "role" else set()
        assert {*patch.signature.body.__struct_fields__} == {*put.signature.body.__struct_fields__} | beside
        assert issubclass(patch.signature.body, MergePatch)
        for name in ("access", "logged", "refusals", "publishes", "dry_run", "tagged"):
            assert getattr(put.metadata, name) == getattr(patch.metadata, name), (noun, name)


async def patch(body: bytes, *headers: tuple[str, str]) -> Answer:
    app, routes = example()
    routes.add("/api/bird", Birds())
    return await ask(app, "PATCH", "/api/bird", *headers, body=body)


@pytest.mark.parametrize(
    "kind", ["application/merge-patch+json", "Application/Merge-Patch+JSON; charset=utf-8"]
)
async def test_a_patch_is_taken_as_json_and_as_a_merge_patch(kind: str) -> None:
    for header in (JSON, ("Content-Type", kind)):
        answer = await patch(b'{"wild":false}', header)
        assert (answer.status, answer.json) == (200, {"data": ["wild"]})


async def test_another_type_or_no_body_is_refused_with_those_that_are_taken() -> None:
    for headers in ((), (("Content-Type", "application/json-patch+json"),)):
        answer = await patch(b"", *headers)
        assert (answer.status, answer.code) == (415, "unsupported_media_type")
        assert answer.header("accept-patch") == "application/json, application/merge-patch+json"
    assert (await ask(example()[0], "POST", "/api/thing", PATCH, body=b"{}")).status == 415


@with_each("body", [b"[]", b"null", b"7", b'"x"'])
async def test_a_patch_that_is_no_object_would_replace_the_record_and_is_refused(body: bytes) -> None:
    assert (await patch(body, PATCH)).fields == ["body"]


async def test_the_document_names_both_media_types_of_a_patch() -> None:
    _, routes = example()
    routes.add("/api/bird", Birds())
    made = openapi(routes.operations, info={"title": "t", "version": "1"})
    asked = made["paths"]["/api/bird"]["patch"]["requestBody"]
    assert (asked["required"], not is_optional(BirdPatch)) == (True, True)
    assert [*asked["content"]] == ["application/json", "application/merge-patch+json"]
    assert {media_type["schema"]["$ref"] for media_type in asked["content"].values()} == {
        "#/components/schemas/BirdPatch"
    }


def call_with(*if_match: str) -> RequestContext:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    scope: dict[str, Any] = falcon.testing.create_scope()
    scope["headers"] = [(b"if-match", value.encode()) for value in if_match]
    context = RequestContext(scope)
    context.request = Request(scope, receive)
    return context


@with_each("given", ['"7"', "*", ' "6" , "7"', '"6","7","8"', ',"7",', '"a,b", "7"'])
def test_a_request_that_names_the_record_may_change_it(given: str) -> None:
    require_match(call_with(given), version_tag(7))


def test_a_request_without_if_match_may_change_it() -> None:
    require_match(call_with(), version_tag(7))


def test_several_headers_are_one_list() -> None:
    require_match(call_with('"6"', '"7"'), version_tag(7))


@with_each("given", ['"6"', '"77"', 'W/"7"', '"6", "8"', '"x,7"', '"6,"7,8""'])
def test_a_request_that_names_another_version_is_refused(given: str) -> None:
    with pytest.raises((PreconditionFailed, BadRequest)):
        require_match(call_with(given), version_tag(7))


@with_each("given", ["7", "", '"7', "'7'", '"7" "8"', '*, "7"', '"7"x', '""7""'])
def test_what_is_no_list_of_entity_tags_is_a_bad_request(given: str) -> None:
    with pytest.raises(BadRequest):
        require_match(call_with(given), version_tag(7))


def test_the_tag_of_a_content_depends_on_all_that_is_shown() -> None:
    assert content_tag({"ids": [1, 2]}) == content_tag({"ids": [1, 2]})
    assert len({content_tag(shown) for shown in ([], [1], [2], [12], [1, 2], {"ids": [1, 2]})}) == 6
    require_match(call_with(content_tag([1])), content_tag([1]))


def test_a_tag_is_answered_as_etag() -> None:
    context = call_with()
    answer_tag(context, version_tag(7))
    assert context.headers == [(b"etag", b'"7"')]


class Thing(Schema):
    """A thing."""

    name: str


class Forgetful:
    """A conditional read that adds no tag."""

    def __init__(self) -> None:
        self.name = "winch"

    @needs("thing:read", name="readThing", tagged=True)
    async def on_get(self, _context: RequestContext) -> Thing:
        """Read a thing."""
        return Thing(self.name)


async def test_a_conditional_read_that_adds_no_tag_has_that_of_its_content() -> None:
    app, thing = Application(), Forgetful()
    Routes(app, OpenGate()).add("/api/thing", thing)
    service = RequestMiddleware(app)

    first = await ask(service, "GET", "/api/thing")
    tag = first.header("etag")
    again = await ask(service, "GET", "/api/thing", ("If-None-Match", str(tag)))
    thing.name = "chain"
    changed = await ask(service, "GET", "/api/thing", ("If-None-Match", str(tag)))

    assert (first.status, first.json) == (200, {"data": {"name": "winch"}})
    assert (again.status, again.header("etag")) == (304, tag)
    assert (changed.status, changed.json) == (200, {"data": {"name": "chain"}})
