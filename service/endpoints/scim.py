"""What the service can do of SCIM, and the parts that its users and groups share: ``/scim/v2``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec

from service.errors import NotFound
from service.kernel.clock import rfc3339
from service.kernel.scim.attributes import CORE, SCHEMAS, Schema, id_of
from service.kernel.scim.filters import parse_filter
from service.records.database.transactions import Database
from service.records.scim import Chosen
from service.web.messages import operation_metadata as operation
from service.web.messages.context import RequestContext
from service.web.messages.preconditions import version_tag
from service.web.messages.scim import LIST_OF, MAX_PAGE, ScimListQuery, ScimMeta, ScimObject, ScimObjects

BASE: Final = "/scim/v2"
READ: Final = "system:scim:read"
_CONFIG: Final = "ServiceProviderConfig"

P = TypeVar("P")


class ScimEndpoint(Generic[P]):
    """The base of the endpoints of users and groups, which ``part`` provisions."""

    def __init__(self, database: Database, part: P) -> None:
        self.database = database
        self.part = part


def record_id(text: str) -> int:
    """Return the id that is a part of a path; NotFound for what is no id: nothing has it."""
    number = id_of(text)
    if number is None:
        raise NotFound("There is no such resource")
    return number


def chosen(directory: str, query: ScimListQuery, schema: Schema) -> Chosen:
    """Return which resources ``query`` asks for; raises ScimFault."""
    term = None if query.filter is None else parse_filter(query.filter, schema)
    return Chosen(directory, term, *query.place)


def meta_of(kind: str, record_id: int, created: datetime, changed: datetime, version: int) -> ScimMeta:
    """Return the facts about a resource."""
    location = f"{BASE}/{kind}s/{record_id}"
    return ScimMeta(kind, location, rfc3339(created), rfc3339(changed), version_tag(version))


class ScimServiceProviderConfig(ScimObject):
    """What the service can do of SCIM (RFC 7643 §5)."""

    patch: dict[str, bool]
    bulk: dict[str, Any]
    filter: dict[str, Any]
    change_password: dict[str, bool]
    sort: dict[str, bool]
    etag: dict[str, bool]
    authentication_schemes: list[dict[str, Any]]


_NO: Final = {"supported": False}
_YES: Final = {"supported": True}
_BEARER: Final = {
    "type": "oauthbearertoken",
    "name": "Bearer token",
    "description": "An API key of the service account, or a client token that was issued for it.",
    "specUri": "https://www.rfc-editor.org/rfc/rfc6750",
    "primary": True,
}


class ServiceProviderConfig:
    """``/scim/v2/ServiceProviderConfig``."""

    @operation.needs(READ)
    @operation.named("getScimServiceProviderConfig")
    async def on_get(self, context: RequestContext) -> ScimServiceProviderConfig:
        """Read what the service can do of SCIM."""
        return ScimServiceProviderConfig(
            schemas=[CORE + _CONFIG],
            meta=ScimMeta(_CONFIG, f"{BASE}/{_CONFIG}"),
            patch=_YES,
            bulk={**_NO, "maxOperations": 0, "maxPayloadSize": 0},
            filter={**_YES, "maxResults": MAX_PAGE},
            change_password=_NO,
            sort=_NO,
            etag=_YES,
            authentication_schemes=[_BEARER],
        )


def _schema(schema: Schema) -> dict[str, Any]:
    return {
        "schemas": [f"{CORE}Schema"],
        "id": schema.uri,
        "name": schema.name,
        "description": schema.text,
        "attributes": [attribute.described() for attribute in schema.attributes],
        "meta": {"resourceType": "Schema", "location": f"{BASE}/Schemas/{schema.uri}"},
    }


def _type(schema: Schema) -> dict[str, Any]:
    return {
        "schemas": [f"{CORE}ResourceType"],
        "id": schema.name,
        "name": schema.name,
        "description": schema.text,
        "endpoint": f"/{schema.name}s",
        "schema": schema.uri,
        "meta": {"resourceType": "ResourceType", "location": f"{BASE}/ResourceTypes/{schema.name}"},
    }


_SHOWN: Final = {schema.uri: _schema(schema) for schema in SCHEMAS.values()}
_TYPES: Final = {schema.name: _type(schema) for schema in SCHEMAS.values()}


class ScimSchemaObject(ScimObject):
    """A schema (RFC 7643 §7)."""

    id: str
    name: str
    description: str
    attributes: list[dict[str, Any]]


class ScimResourceType(ScimObject):
    """A type of resources (RFC 7643 §6)."""

    id: str
    name: str
    description: str
    endpoint: str
    schema: str


T = TypeVar("T", bound=ScimObject)


def _listed(objects: Mapping[str, dict[str, Any]]) -> ScimObjects:
    return ScimObjects(LIST_OF, len(objects), 1, len(objects), list(objects.values()))


def _named(objects: Mapping[str, dict[str, Any]], name: str, kind: type[T]) -> T:
    if name not in objects:
        raise NotFound("There is no such resource")
    return msgspec.convert(objects[name], kind)


class ListOfSchemas:
    """``/scim/v2/Schemas``."""

    @operation.needs(READ)
    @operation.named("listScimSchemas")
    async def on_get(self, context: RequestContext) -> ScimObjects:
        """List the schemas of users and groups."""
        return _listed(_SHOWN)


class OneSchema:
    """``/scim/v2/Schemas/{uri}``."""

    @operation.needs(READ)
    @operation.refuses(NotFound)
    @operation.named("getScimSchema")
    @operation.example_parameters(uri=f"{CORE}User")
    async def on_get(self, context: RequestContext, uri: str) -> ScimSchemaObject:
        """Read a schema."""
        return _named(_SHOWN, uri, ScimSchemaObject)


class ListOfResourceTypes:
    """``/scim/v2/ResourceTypes``."""

    @operation.needs(READ)
    @operation.named("listScimResourceTypes")
    async def on_get(self, context: RequestContext) -> ScimObjects:
        """List the types of resources."""
        return _listed(_TYPES)


class OneResourceType:
    """``/scim/v2/ResourceTypes/{name}``."""

    @operation.needs(READ)
    @operation.refuses(NotFound)
    @operation.named("getScimResourceType")
    @operation.example_parameters(name="User")
    async def on_get(self, context: RequestContext, name: str) -> ScimResourceType:
        """Read a type of resources."""
        return _named(_TYPES, name, ScimResourceType)
