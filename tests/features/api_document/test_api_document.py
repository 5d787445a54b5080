"""The OpenAPI document of the service itself: what generators of clients read in it."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.errors import Refusal
from service.features.api_document.api import INFO, tags_of
from service.features.api_document.document import openapi
from service.settings import Settings
from service.web.messages.operation_metadata import Operation
from service.web.requests.problems import refusals
from tests.docs.pages import ROOT, between, rows

Document = dict[str, Any]

VERBS = (
    "accept|assign|ban|cancel|change|check|close|compare|confirm|create|decide|delete|download|end|explain|export|find|follow|get|import|introspect|invite|issue|kick|list|log|mark|"
    "patch|pause|preview|refresh|reload|request|reset|restore|revoke|run|set|sign|start|step|unban|update|upload|verify"
)
OK = ("200", "201")
CREATING = (
    *("createUser", "createUserKey", "createRole", "createMenu", "createResource", "createService"),
    *("createServiceOpening", "uploadFile", "createOwnApp", "createOwnPasskey", "assignUserRole"),
    *(
        "createAccessRequest",
        "createReview",
        "createOwnKey",
        "createOwnDelegation",
        "createScimUser",
        "createScimGroup",
    ),
)
"""Operations that make a record."""


@pytest.fixture(scope="module")
def served() -> list[Operation]:
    routes = check_routes(read_shipped())
    return [*routes.operations, *routes.outside]


@pytest.fixture(scope="module")
def document(served: list[Operation]) -> Document:
    made = openapi(served, info=INFO, tags=tags_of(Settings(), ()))
    decoded: Document = json.loads(msgspec.json.encode(made))
    return decoded


def operations(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def problems_of(operation: dict[str, Any]) -> list[str]:
    """Return the components of the problem documents that the operation can answer."""
    schemas = [
        answer["content"]["application/problem+json"]["schema"]
        for answer in operation["responses"].values()
        if "application/problem+json" in answer.get("content", {})
    ]
    return [
        alternative["$ref"].rpartition("/")[2]
        for schema in schemas
        for alternative in schema.get("oneOf", [schema])
    ]


def test_every_operation_has_a_name_that_starts_with_a_verb(document: Document) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert {"logIn", "listUsers", "createUser", "setRolePermissions", "listLoginLogs"} <= set(names)
    pattern = re.compile(rf"(?:{VERBS})(?:[A-Z][a-z]+)+")
    assert [name for name in names if not pattern.fullmatch(name)] == []


def test_every_type_is_described(document: Document) -> None:
    schemas = document["components"]["schemas"].items()
    bare = [
        name for name, schema in schemas if schema.get("type") == "object" and "description" not in schema
    ]
    assert [name for name in bare if not name.endswith(("Envelope", "UploadForm"))] == []


def test_every_tag_is_described(document: Document) -> None:
    assert [tag["name"] for tag in document["tags"] if not tag.get("description")] == []


def test_no_name_of_an_operation_is_derived_from_its_path(
    served: list[Operation], document: Document
) -> None:
    shown = {operation["operationId"] for _, operation in operations(document)}
    assert shown - {operation.metadata.operation_id for operation in served} == set()


def test_path_parameters_are_camel_case(document: Document) -> None:
    for name, operation in operations(document):
        declared = {entry["name"] for entry in operation.get("parameters", ()) if entry["in"] == "path"}
        assert declared == set(re.findall(r"\{([a-zA-Z]+)\}", name)), name
        assert "_" not in name
    assert "/api/online/{loginId}" in document["paths"]


def test_every_json_answer_is_a_named_component_or_a_choice_of_them(document: Document) -> None:
    schemas = document["components"]["schemas"]
    for name, operation in operations(document):
        for answer in operation["responses"].values():
            for media_type, content in answer.get("content", {}).items():
                if media_type.endswith("json"):
                    schema = content["schema"]
                    choices = schema.get("anyOf", schema.get("oneOf", [schema]))
                    for choice in choices:
                        assert choice.keys() == {"$ref"}, name
                        assert choice["$ref"].rpartition("/")[2] in schemas, name
    assert {"UserPage", "UserPageEnvelope", "UserEnvelope", "SessionListEnvelope"} <= schemas.keys()
    assert [name for name in schemas if not re.fullmatch("[A-Z][A-Za-z]+", name)] == []


def references(part: Any) -> Iterator[str]:
    """Yield all references within ``part``."""
    if isinstance(part, dict):
        if isinstance(reference := part.get("$ref"), str):
            yield reference
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from references(each)


def test_every_reference_leads_to_a_component_and_none_is_unused(document: Document) -> None:
    known = {
        f"#/components/{kind}/{name}" for kind, named in document["components"].items() for name in named
    }
    referenced = set(references(document))
    assert len(referenced) > 200
    schemes = {f"#/components/securitySchemes/{name}" for name in document["components"]["securitySchemes"]}
    assert referenced == known - schemes


def unnamed(part: Any) -> Iterator[list[Any]]:
    """Yield the enumerations of several values within ``part``."""
    if isinstance(part, dict):
        if len(values := part.get("enum", ())) > 1:
            yield values
        part = [value for key, value in part.items() if key not in ("example", "examples")]
    for each in part if isinstance(part, list) else ():
        yield from unnamed(each)


def test_every_enumeration_is_a_named_component(document: Document) -> None:
    schemas = document["components"]["schemas"]
    within = [schema.get("properties", {}) for schema in schemas.values()]
    assert list(unnamed([document["paths"], within])) == []
    assert schemas["UserStatus"]["enum"] == ["disabled", "enabled"]
    assert {"id", "-id", "userName", "-createTime"} <= set(schemas["UserSort"]["enum"])


def parameter(document: Document, operation_id: str, name: str) -> Any:
    """Return the schema of a parameter."""
    (operation,) = [entry for _, entry in operations(document) if entry["operationId"] == operation_id]
    (schema,) = [entry["schema"] for entry in operation["parameters"] if entry["name"] == name]
    return schema


def test_parameters_have_the_patterns_that_the_service_checks(document: Document) -> None:
    device = parameter(document, "endOwnSession", "device")["pattern"]
    assert (bool(re.search(device, "web")), re.search(device, "Web!")) == (True, None)
    tag = parameter(document, "updateUser", "If-Match")["pattern"]
    assert all(re.search(tag, example) for example in ("*", '"3"', 'W/"3", "4"'))
    assert not re.search(tag, "3")
    assert parameter(document, "listUsers", "sort")["$ref"].endswith("/UserSort")


def test_files_are_sent_and_received_as_binary(document: Document) -> None:
    bodies = {operation["operationId"]: operation for _, operation in operations(document)}
    form = bodies["uploadFile"]["requestBody"]["content"]["multipart/form-data"]["schema"]["$ref"]
    file = document["components"]["schemas"][form.rpartition("/")[2]]["properties"]["file"]
    assert file["format"] == "binary"
    content = bodies["downloadFile"]["responses"]["200"]["content"]
    assert content["application/octet-stream"]["schema"] == {"type": "string", "format": "binary"}
    exported = bodies["exportUsers"]["responses"]["200"]["content"]
    assert exported["text/csv"] == {"schema": {"type": "string"}}
    assert exported["application/json"]["schema"]["$ref"].endswith("/ImportedUsers")


def test_an_operation_says_in_words_whom_it_serves(document: Document) -> None:
    descriptions = {
        operation["operationId"]: operation["description"] for _, operation in operations(document)
    }
    assert descriptions["listUsers"].endswith("Needs the permission `system:user:list` (List users).")
    assert (
        "Needs any one of the permissions `system:role:list` (List and read roles), "
        in descriptions["listRoles"]
    )
    assert descriptions["logIn"].endswith("Needs no login.")
    assert descriptions["logOut"].endswith("Needs a login, and no permission.")
    assert [name for name, text in descriptions.items() if "Needs " not in text] == []


def test_every_tag_has_a_description(document: Document) -> None:
    assert [tag["name"] for tag in document["tags"] if not tag.get("description")] == []
    assert tags_of(Settings(), ()).keys() == {tag["name"] for tag in document["tags"]}


def test_answers_name_their_headers(document: Document) -> None:
    headers = {
        f"{operation['operationId']} {status}": set(answer["headers"])
        for _, operation in operations(document)
        for status, answer in operation["responses"].items()
    }
    assert all("X-Request-Id" in names for names in headers.values())
    assert headers["getUser 200"] == {"X-Request-Id", "X-Policy-Revision", "ETag"}
    assert "ETag" not in headers["createUser 200"] | headers["deleteUser 200"] | headers["listUsers 200"]
    assert {"ETag", "X-Policy-In-Force"} <= headers["createMenu 201"]
    assert "Location" in headers["downloadFile 307"]
    assert {"Content-Range", "ETag"} <= headers["downloadFile 206"]
    keyed = {
        f"{operation['operationId']} 409"
        for _, operation in operations(document)
        if "RequestUnderWayProblem" in problems_of(operation)
    }
    assert "createUser 409" in keyed
    for name, names in headers.items():
        assert ("Retry-After" in names) == (name.endswith((" 429", " 503")) or name in keyed), name
    known = document["components"]["headers"]
    # A file elsewhere is not a new record, so its `Location` has another description.
    assert set().union(*headers.values()) == known.keys() - {"FileLocation"}
    redirects = {"downloadFile 307", "downloadPublicFile 307"}
    made = {name for name, names in headers.items() if "Location" in names} - redirects
    assert made == {f"{name} 201" for name in CREATING}


def test_each_operation_says_whether_it_takes_an_idempotency_key(document: Document) -> None:
    takes = {
        operation["operationId"]
        for _, operation in operations(document)
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ()))
    }
    replays = {
        operation["operationId"]
        for _, operation in operations(document)
        if any(
            "Idempotency-Replayed" in answer.get("headers", ()) for answer in operation["responses"].values()
        )
    }
    refuses = {
        operation["operationId"]: operation["description"]
        for _, operation in operations(document)
        if "Refuses an `Idempotency-Key`: " in operation["description"]
    }
    creates = {
        operation["operationId"] for _, operation in operations(document) if "201" in operation["responses"]
    }
    bulk = {"setUserStatuses", "setRoleOfUsers", "kickUsers"}
    assert takes == replays == (creates | bulk) - refuses.keys()
    assert "tokens, which are never kept." in refuses["logIn"]


def called(function: ast.AST) -> set[str]:
    """Return the names of the functions that ``function`` calls, and of methods that answer a record."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    return names | {
        call.attr for call in calls if isinstance(call, ast.Attribute) and call.attr == "record_answer"
    }


def answering(tree: ast.Module) -> set[str]:
    """Return the names of the functions of a module that answer a tag for its operations."""
    helpers = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in helpers if "answer_tag" in called(node)}


def is_marked(function: ast.AsyncFunctionDef) -> bool:
    """Return whether ``function`` is declared as tagged, or sets a part of a record."""
    marks = [item for item in function.decorator_list if isinstance(item, ast.Call)]
    return any(
        any(option.arg == "tagged" for option in mark.keywords)
        or (isinstance(mark.func, ast.Attribute) and mark.func.attr == "sets")
        for mark in marks
    )


def test_operations_that_answer_a_tag_are_marked_so_and_no_others() -> None:
    """Those that ``RecordKind`` makes are marked by what makes them answer a tag: that they are versioned."""
    sources = [*(ROOT / "service" / "endpoints").rglob("*.py"), *(ROOT / "service" / "web").rglob("*.py")]
    kinds = ROOT / "service" / "endpoints" / "record_endpoints.py"
    trees = {str(source): ast.parse(source.read_text("utf-8")) for source in sources if source != kinds}
    shared = {name for tree in trees.values() for name in answering(tree) if not name.startswith("_")}
    marked = []
    for source, tree in trees.items():
        known = {"answer_tag", "record_answer"} | shared | answering(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("on_"):
                has_mark = is_marked(node)
                assert has_mark == bool(called(node) & known), f"{source}, line {node.lineno}"
                marked += [node.name] * has_mark
    assert len(marked) > 7


def test_what_if_match_asks_for_is_answered_by_the_same_path(document: Document) -> None:
    for path, methods in document["paths"].items():
        asks = [
            operation["operationId"]
            for operation in methods.values()
            if any(entry["name"] == "If-Match" for entry in operation.get("parameters", ()))
        ]
        answers = [
            method
            for method, operation in methods.items()
            if any("ETag" in operation["responses"].get(status, {}).get("headers", {}) for status in OK)
        ]
        # A revision of the policy is its own version; the state of a resource is a part of the resource.
        assert not asks or answers or asks == ["restoreRevision"], path


def test_no_member_of_a_component_has_a_default(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert "device" in schemas["Credentials"]["properties"]
    assert "device" not in schemas["Credentials"]["required"]
    defaults = [
        f"{name}.{member}"
        for name, schema in schemas.items()
        for member, described in schema.get("properties", {}).items()
        if "default" in described
    ]
    assert defaults == []


def test_descriptions_are_markdown(document: Document) -> None:
    assert "`total`" in document["components"]["schemas"]["UserPage"]["description"]
    assert "``" not in json.dumps(document)


def test_each_documented_problem_has_a_code_of_the_page_and_its_status(document: Document) -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    listed = {row[1]: int(row[0]) for row in rows(between(page, "errors"))}
    schemas = document["components"]["schemas"]
    seen = set()
    for name, operation in operations(document):
        for problem in problems_of(operation):
            members = schemas[problem]["properties"]
            code, status = members["code"]["const"], members["status"]["const"]
            assert listed[code] == status, name
            assert f"`{code}`" in operation["responses"][str(status)]["description"], name
            seen.add(code)
    assert {"permission_denied", "refresh_rejected", "quota_exceeded"} <= seen


def test_a_problem_has_the_members_of_its_code(document: Document) -> None:
    schemas = document["components"]["schemas"]
    denied = schemas["PermissionDeniedProblem"]
    assert {"layer", "required", "needed", "decisionId"} <= set(denied["required"])
    layers = ["resource", "endpoint", "grant", "service", "account", "assurance"]
    layers += ["request", "approve", "review"]
    assert schemas["DecisionLayer"]["enum"] == layers
    assert "superseded" in schemas["RefreshRejection"]["enum"]
    assert schemas["FieldError"]["required"] == ["field", "message", "code", "params"]
    assert "until" not in schemas["AccountBannedProblem"]["required"]


def told_members() -> Iterator[tuple[type[Refusal], str]]:
    """Yield the further members that the code of the service gives to refusals, with the refusal."""
    kinds = {kind.__name__: kind for kind in refusals()}
    calls = re.compile(rf"\b(?:{'|'.join(kinds)})\(")
    texts = (source.read_text(encoding="utf-8") for source in (ROOT / "service").rglob("*.py"))
    for source in filter(calls.search, texts):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                kind = kinds[node.func.id]
                own = kind.__init__.__code__.co_varnames
                yield from ((kind, word.arg) for word in node.keywords if word.arg and word.arg not in own)


def test_every_member_that_a_refusal_is_given_is_in_its_schema(document: Document) -> None:
    known = {
        schema["properties"]["code"]["const"]: schema["properties"]
        for name, schema in document["components"]["schemas"].items()
        if name.endswith("Problem")
    }
    result = set(told_members())
    assert len(result) > 10
    assert [member for kind, member in result if member not in known[kind.code]] == []


def test_every_filter_by_an_enumeration_takes_several_values_and_every_sort_is_one(
    document: Document,
) -> None:
    schemas = document["components"]["schemas"]
    once = {"format", "sort", "sortOrder", "method", "layer"}  # the last two name what is asked about
    sorts = 0
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
            if "enum" in schema and not parameter.get("required"):
                assert parameter["name"] in once or parameter["in"] == "header", (name, parameter)
            assert parameter["name"] != "sort" or "enum" in schema, name
            sorts += parameter["name"] == "sort"
    assert sorts >= 6
