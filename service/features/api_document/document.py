"""The OpenAPI 3.1 document, generated from the operation metadata and types of the operations."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from service.authz.engine.rules import ANYONE, LOGIN
from service.features.api_document.names import envelope_of, with_names
from service.features.api_document.problems import (
    problem_examples,
    problem_responses,
    problem_schemas,
    refusals_in,
)
from service.features.api_document.schemas import HEADERS, JSON, Schemas, header_parameters, response_headers
from service.kernel.fields import camel
from service.kernel.permission_catalogue import CATALOGUE, permissions
from service.web.content.streams import ANY_TYPE
from service.web.messages.bodies import is_optional, media_types
from service.web.messages.cookies import CSRF_HEADER
from service.web.messages.dialect import OwnBody
from service.web.messages.dry_run import Preview
from service.web.messages.operation_metadata import GROUPS, PARAMETER, Operation
from service.web.messages.original import PROXY_KEY
from service.web.messages.schema import Document, is_protocol
from service.web.requests.idempotency import KEY
from service.web.requests.operation import NO_CONTENT, OK

_PAGES: Final = "/docs/"
_FORM: Final = "application/x-www-form-urlencoded"
OCTETS: Final = "application/octet-stream"
_MAIN: Final = GROUPS[0]  # the names of its operations begin after it
_BINARY: Final = {"type": "string", "format": "binary"}
BEARER: Final = ("Authorization", "Bearer ")
"""The header of the access token, and the text before it (RFC 6750 §2.1)."""
NO_TAGS: Final[Mapping[str, str]] = {}


def openapi(
    operations: Iterable[Operation],
    *,
    info: Mapping[str, Any],
    tags: Mapping[str, str] = NO_TAGS,
    token: tuple[str, str] = BEARER,
    access_cookie: str | None = None,
    server: str = "/",
) -> dict[str, Any]:
    """Return the OpenAPI document of ``operations``, except the pages of documentation.

    ``info`` is the Info Object (OpenAPI 3.1 §4.8.2). ``tags`` describes the groups of operations, by the
    first segment of their paths. ``token`` is the name of the header that carries the access token, and the
    text before the token. ``access_cookie`` is the name of the cookie that carries it, in cookie mode.
    ``server`` is the URL that the paths are below: of the document itself, or complete.
    """
    shown = [operation for operation in operations if not _is_page(operation)]
    schemas = Schemas(shown)
    cookies = access_cookie is not None
    refused = refusals_in(shown, with_cookies=cookies)
    paths: dict[str, dict[str, Any]] = {}
    for operation in shown:
        methods = paths.setdefault(operation.shown_path, {})
        methods[operation.method.lower()] = _operation(operation, schemas, with_cookies=cookies)
    made = {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": server}],
        "tags": [
            {"name": tag, **({"description": tags[tag]} if tag in tags else {})}
            for tag in sorted({operation.noun for operation in shown})
        ],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, **problem_schemas(refused)},
            "examples": problem_examples(refused),
            "headers": HEADERS,
            "securitySchemes": {
                "bearer": _token_scheme(*token),
                **_cookie_schemes(access_cookie),
                **(
                    {"proxyKey": _PROXY_KEY}
                    if any(shown_operation.subrequest for shown_operation in shown)
                    else {}
                ),
                **(
                    {"client": _CLIENT}
                    if any(shown_operation.metadata.by_client for shown_operation in shown)
                    else {}
                ),
            },
        },
    }
    return with_names(made)


def _is_page(operation: Operation) -> bool:
    if operation.template.startswith(_PAGES):
        return True
    return operation.signature.answer is Document and operation.metadata.form is None


def _token_scheme(name: str, prefix: str) -> dict[str, Any]:
    description = "The access token that a login or a refresh returns, or the API key of a service account"
    if (name.lower(), prefix) == (BEARER[0].lower(), BEARER[1]):
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": f"{description}."}
    after = f", after `{prefix}`" if prefix else ""
    return {"type": "apiKey", "in": "header", "name": name, "description": f"{description}{after}."}


_PROXY_KEY: Final = {
    "type": "apiKey",
    "in": "header",
    "name": PROXY_KEY,
    "description": "The API key of the proxy's service account; other credentials are those of the user.",
}


_CLIENT: Final = {
    "type": "http",
    "scheme": "basic",
    "description": "A service account: the number of its API key, or its name, and the API key.",
}


def _cookie_schemes(access_cookie: str | None) -> dict[str, Any]:
    if access_cookie is None:
        return {}
    return {
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": access_cookie,
            "description": "The cookie that a login or a refresh sets; never beside a token in the header.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": CSRF_HEADER,
            "description": "The value of the CSRF cookie, where a cookie is used to change something.",
        },
    }


def _operation(operation: Operation, schemas: Schemas, *, with_cookies: bool) -> dict[str, Any]:
    access = operation.access or (ANYONE,)
    problems = problem_responses(operation, with_cookies=with_cookies)
    made: dict[str, Any] = {
        "operationId": operation.metadata.operation_id or _operation_id(operation),
        "tags": [operation.noun],
        "summary": operation.summary,
        "description": "\n\n".join(
            filter(None, (operation.description, _keys(operation), _needs(operation, access)))
        ),
        "responses": {
            status: {**response, "headers": response_headers(operation, int(status))}
            for status, response in _responses(operation, schemas, problems).items()
        },
        "security": _security(operation, with_cookies=with_cookies),
        "x-permissions": list(access),
    }
    if parameters := [*schemas.parameters(operation), *header_parameters(operation)]:
        made["parameters"] = parameters
    if (body := operation.signature.body) is not None:
        shown = {} if operation.metadata.example is None else {"example": operation.metadata.example}
        media = {"schema": schemas.of(body), **shown}
        own = body if issubclass(body, OwnBody) else None
        content: dict[str, Any] = dict.fromkeys(own.media_types if own else media_types(body), media)
        content |= own.further(operation.metadata.example) if own else {}
        made["requestBody"] = {"required": not is_optional(body), "content": content}
    elif field := operation.metadata.file:
        made["requestBody"] = {"required": True, "content": {"multipart/form-data": _upload(field)}}
    elif form := operation.metadata.form:
        filled = {"schema": schemas.of(form.takes), "example": operation.metadata.example}
        made["requestBody"] = {"required": True, "content": {_FORM: filled}}
    return made


def _needs(operation: Operation, access: tuple[str, ...]) -> str:
    """Return a sentence about the required access of ``operation`` with ``access``."""
    if access == (ANYONE,):
        return (
            "Needs no login, but a client's credentials."
            if operation.metadata.by_client
            else "Needs no login."
        )
    if access == (LOGIN,):
        return "Needs a login, and no permission."
    known = permissions(CATALOGUE)
    named = [f"`{code}`" + (f" ({known[code].title})" if code in known else "") for code in access]
    return (
        f"Needs {'the permission' if len(named) == 1 else 'any one of the permissions'} {', '.join(named)}."
    )


def _keys(operation: Operation) -> str:
    """Return a sentence for an operation that refuses an ``Idempotency-Key``; "" for all others."""
    why = operation.metadata.refuses_keys
    return f"Refuses an `{KEY}`: {why}." if why else ""


def _security(operation: Operation, *, with_cookies: bool) -> list[dict[str, list[str]]]:
    if operation.access in ((), (ANYONE,)):
        # Or by the form, which no security scheme can say (RFC 6749 §2.3.1).
        return [{"client": []}, {}] if operation.metadata.by_client else []
    ways: list[dict[str, list[str]]] = [{"bearer": []}]
    if with_cookies:
        ways.append({"cookie": []} if operation.method == "GET" else {"cookie": [], "csrf": []})
    if operation.subrequest:
        # The proxy alone, or also the user whose request it asks about.
        ways = [{"proxyKey": [], **way} for way in ({}, *ways)]
    if operation.metadata.by_client:
        ways.append({"client": []})
    return ways


def _responses(operation: Operation, schemas: Schemas, problems: Mapping[str, Any]) -> dict[str, Any]:
    """Return all answers by status: successes, ``problems``, and the errors of an operation for forms."""
    responses: dict[str, Any] = {**_successes(operation, schemas), **problems}
    if form := operation.metadata.form:
        for status in map(str, form.statuses):
            other = responses.get(status, {"description": "", "content": {}})
            description = "; ".join(filter(None, ("Refused by the specification", other["description"])))
            content = {JSON: {"schema": schemas.of(form.refuses)}, **other["content"]}
            responses[status] = {"description": description, "content": content}
    return dict(sorted(responses.items()))


def _successes(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """Return the answers of a success by status: a dry run is answered 200, also where a write is 201."""
    done = _success(operation, schemas)
    if ANY_TYPE in operation.metadata.media:
        return {
            str(OK): done,
            "206": {**done, "description": "The part that `Range` asks for"},
            "304": {"description": "The client has the file, by `If-None-Match`"},
            "307": {"description": "The object store sends the file"},
        }
    if operation.conditional:
        return {str(OK): done, "304": {"description": "The client has the answer, by `If-None-Match`"}}
    if not operation.metadata.dry_run:
        return {str(operation.status): done}
    if operation.status != OK:
        return {
            str(OK): {**done, "description": "Nothing was saved: `dryRun`"},
            str(operation.status): done,
        }
    return {str(OK): {**done, "description": "Done, or, with `dryRun`, the impact"}}


def _success(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    if operation.status == NO_CONTENT:
        return {"description": "Done"}
    if operation.metadata.media:
        sent = operation.metadata.sent
        known = {} if sent is None else {JSON: {"schema": schemas.of(sent)}}
        return {"description": "The file", "content": _files(operation.metadata.media) | known}
    if form := operation.metadata.form:
        return {"description": "Done", "content": {JSON: {"schema": schemas.of(form.answers)}}}
    data = schemas.of(operation.signature.answer)
    if is_protocol(operation.signature.answer):
        schema = data
    else:
        preview = schemas.of(Preview) if operation.metadata.dry_run else None
        schema = envelope_of(data, preview)
    answered = operation.dialect.media if operation.dialect else JSON
    return {"description": "Done", "content": {answered: {"schema": schema}}}


def _files(media_types: Iterable[str]) -> dict[str, Any]:
    """Return the content of an answer that is a file; clients read one of any type as bytes."""
    kinds = [
        kind
        for media_type in media_types
        for kind in ((OCTETS, ANY_TYPE) if media_type == ANY_TYPE else (media_type,))
    ]
    return {kind: {"schema": {"type": "string"} if kind.startswith("text/") else _BINARY} for kind in kinds}


def _upload(field: str) -> dict[str, Any]:
    # `format` is for generators that read OpenAPI 3.0, `contentMediaType` is what 3.1 §4.8.14.3 has.
    file = {**_BINARY, "contentMediaType": OCTETS}
    form = {"title": "UploadForm", "type": "object", "properties": {field: file}, "required": [field]}
    return {"schema": form}


def _operation_id(operation: Operation) -> str:
    words = [operation.method.lower()]
    for segment in operation.template.removeprefix(_MAIN).split("/"):
        parameter = PARAMETER.fullmatch(segment)
        words += ["by", parameter[1]] if parameter else [segment]
    return camel(re.sub(r"[^A-Za-z0-9]+", "_", "_".join(words)))
