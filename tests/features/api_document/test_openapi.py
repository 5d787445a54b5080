import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from service.endpoints.health import Live, Ready
from service.errors import Conflict, NotFound
from service.features.api_document.document import openapi
from service.features.api_document.names import with_names
from service.features.api_document.problems import refusals_of
from service.web.observability.readiness import ReadinessChecks
from service.web.requests.application import Application
from service.web.requests.credentials import OperatorToken
from service.web.requests.routes import Routes
from tests.web.example_service import TEMPLATES, OpenGate

INFO: dict[str, Any] = {"title": "Example", "version": "1.0", "description": "Things."}


async def _no_facts() -> Mapping[str, Any]:
    return {}


@pytest.fixture(scope="module")
def routes() -> Routes:
    table = Routes(Application(), OpenGate())
    for template, endpoint in TEMPLATES.items():
        table.add(template, endpoint)
    table.add_outside("/health/live", Live())
    table.add_outside("/health/ready", Ready(ReadinessChecks({}, ()), OperatorToken(""), _no_facts))
    return table


@pytest.fixture(scope="module")
def document(routes: Routes) -> Any:
    made = openapi([*routes.operations, *routes.outside], info=INFO)
    return json.loads(msgspec.json.encode(made))


def operations(document: Any) -> Iterator[tuple[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


async def test_the_document_is_valid(document: Any) -> None:
    validate(document)


async def test_every_operation_is_shown(document: Any, routes: Routes) -> None:
    shown = {name for name, _ in operations(document)}
    assert shown == {operation.object for operation in (*routes.operations, *routes.outside)}


async def test_an_operation_tells_what_it_needs(document: Any) -> None:
    things = document["paths"]["/api/thing"]["get"]
    assert things["x-permissions"] == ["thing:list", "thing:create"]
    assert things["security"] == [{"bearer": []}]
    needs = "Needs any one of the permissions `thing:list`, `thing:create`."
    assert (things["summary"], things["description"]) == ("List things", f"Filters add up.\n\n{needs}")
    assert document["paths"]["/api/echo"]["get"]["x-permissions"] == ["@login"]


async def test_a_public_operation_needs_no_token(document: Any) -> None:
    opened = document["paths"]["/api/open"]["get"]
    assert (opened["security"], opened["x-permissions"]) == ([], ["@anyone"])
    assert "401" not in opened["responses"]


async def test_in_cookie_mode_a_cookie_will_do_and_changes_need_the_csrf_token(routes: Routes) -> None:
    made = openapi([*routes.operations, *routes.outside], info=INFO, access_cookie="__Host-access")
    validate(made)
    schemes = made["components"]["securitySchemes"]
    assert (schemes["cookie"]["in"], schemes["cookie"]["name"]) == ("cookie", "__Host-access")
    assert (schemes["csrf"]["in"], schemes["csrf"]["name"]) == ("header", "X-CSRF-Token")
    read, made_new = (made["paths"]["/api/thing"][method] for method in ("get", "post"))
    assert read["security"] == [{"bearer": []}, {"cookie": []}]
    assert made_new["security"] == [{"bearer": []}, {"cookie": [], "csrf": []}]
    assert "csrf_failed" in made_new["responses"]["403"]["description"]
    assert "csrf_failed" not in read["responses"]["403"]["description"]
    assert made["paths"]["/api/open"]["get"]["security"] == []


async def test_another_header_of_the_token_is_named(routes: Routes) -> None:
    made = openapi(routes.operations, info=INFO, token=("X-Token", "JWT "))
    scheme = made["components"]["securitySchemes"]["bearer"]
    assert (scheme["type"], scheme["in"], scheme["name"]) == ("apiKey", "header", "X-Token")
    assert "`JWT `" in scheme["description"]


async def test_without_cookie_mode_no_cookie_is_mentioned(document: Any) -> None:
    assert document["components"]["securitySchemes"].keys() == {"bearer"}
    assert "csrf_failed" not in json.dumps(document["paths"])


async def test_a_body_may_be_left_out_where_all_its_members_may(document: Any) -> None:
    assert document["paths"]["/api/open"]["put"]["requestBody"]["required"] is False
    assert document["paths"]["/api/thing"]["post"]["requestBody"]["required"] is True


async def test_every_refusal_that_an_operation_can_answer_is_there(document: Any, routes: Routes) -> None:
    for operation in routes.operations:
        responses = document["paths"][operation.template][operation.method.lower()]["responses"]
        codes = {
            code
            for response in responses.values()
            for code in response["content"].get("application/problem+json", {}).get("examples", ())
        }
        assert codes == {refusal.code for refusal in refusals_of(operation)}


async def test_marks_add_refusals_to_the_common_ones(routes: Routes) -> None:
    by_object = {operation.object: refusals_of(operation) for operation in routes.operations}
    assert Conflict in by_object["POST /api/thing"]
    assert Conflict not in by_object["GET /api/thing"]
    assert NotFound in by_object["GET /api/thing/{id}"]


async def test_names_are_those_of_the_wire(document: Any) -> None:
    thing = document["components"]["schemas"]["NewThing"]["properties"]
    assert {"userName", "shortCode"} <= set(thing)
    names = [parameter["name"] for parameter in document["paths"]["/api/thing"]["get"]["parameters"]]
    assert names == ["page", "size", "userName", "colour", "deep", "X-Policy-Min-Revision"]


async def test_parameters_have_their_types_defaults_and_descriptions(document: Any) -> None:
    parameters = {
        parameter["name"]: parameter for parameter in document["paths"]["/api/thing"]["get"]["parameters"]
    }
    assert parameters["size"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 200, "default": 20}
    assert parameters["deep"]["description"] == "Look into the parts too."
    assert parameters["userName"]["schema"] == {"type": "string"}
    id_, _ = document["paths"]["/api/thing/{id}"]["get"]["parameters"]
    assert (id_["name"], id_["in"], id_["required"], id_["schema"]["type"]) == ("id", "path", True, "integer")


async def test_headers_that_an_operation_reads_are_named(document: Any) -> None:
    named = {
        name: [
            parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "header"
        ]
        for name, operation in operations(document)
    }
    assert named["DELETE /api/thing/{id}"] == ["If-Match", "X-Policy-Min-Revision"]
    assert named.pop("DELETE /api/thing/{id}") not in named.values()


async def test_operation_ids_are_unique_and_speak(document: Any) -> None:
    ids = {name: operation["operationId"] for name, operation in operations(document)}
    assert len(set(ids.values())) == len(ids)
    assert ids["GET /api/thing/{id}/part/{name}"] == "getThingByIdPartByName"


def contents(document: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every schema that comes with an example."""
    for name, operation in operations(document):
        bodies = [*operation["responses"].values(), operation.get("requestBody", {"content": {}})]
        for body in bodies:
            for content in body["content"].values():
                for example in [content.get("example")] if "example" in content else []:
                    yield name, content["schema"], example
                for reference in content.get("examples", {}).values():
                    code = reference["$ref"].rpartition("/")[2]
                    example = document["components"]["examples"][code]["value"]
                    yield f"{name} {code}", content["schema"], example
        for parameter in operation.get("parameters", ()):
            if "example" in parameter:
                yield name, parameter["schema"], parameter["example"]


async def test_every_example_fits_its_schema(document: Any) -> None:
    checked = 0
    for name, schema, example in contents(document):
        whole = {**schema, "components": document["components"]}
        faults = [error.message for error in OAS31Validator(whole).iter_errors(example)]
        assert not faults, f"{name}: {faults}"
        checked += 1
    assert checked > 50


async def test_the_example_of_a_body_is_taken_by_the_service(document: Any, routes: Routes) -> None:
    for operation in routes.operations:
        if operation.metadata.example is not None:
            shown = document["paths"][operation.template][operation.method.lower()]
            example = shown["requestBody"]["content"]["application/json"]["example"]
            msgspec.json.decode(msgspec.json.encode(example), type=operation.signature.body)


async def test_a_type_and_an_enumeration_of_one_name_are_refused() -> None:
    decision = {"title": "Decision", "type": "object", "properties": {}}
    known = {"schemas": {"Decision": decision}}
    enumeration = {"schema": {"enum": ["allow", "deny"]}}
    with pytest.raises(ValueError, match="Decision"):
        with_names({"paths": {"/x": enumeration}, "components": known})
