"""The SCIM capabilities: ``/scim/v2/ServiceProviderConfig``, ``Schemas`` and ``ResourceTypes``."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from service.errors import NotFound
from service.features.scim.api_kinds import BASE, READ
from service.features.scim.attributes import CORE, SCHEMAS, Schema
from service.features.scim.messages import LIST_OF, MAX_PAGE, ScimMeta, ScimObject, ScimObjects
from service.features.scim.sentences import sentence
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, example_parameters, needs

_CONFIG: Final = "ServiceProviderConfig"


class ScimServiceProviderConfig(ScimObject):
    """The supported parts of SCIM (RFC 7643 §5)."""

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


class Described(Responders):
    """The base of endpoints that describe the service; ``public_url`` as in ``ScimEndpoint``."""

    def __init__(self, public_url: str) -> None:
        base = f"{public_url}{BASE}"
        self.location = f"{base}/{_CONFIG}"
        self.schemas = {schema.uri: _schema(base, schema) for schema in SCHEMAS.values()}
        self.types = {schema.name: _type(base, schema) for schema in SCHEMAS.values()}


class ServiceProviderConfig(Described, at="/scim/v2/ServiceProviderConfig"):
    @needs(READ, name="getScimServiceProviderConfig")
    async def on_get(self, context: RequestContext) -> ScimServiceProviderConfig:
        """Read the supported parts of SCIM."""
        return ScimServiceProviderConfig(
            schemas=[CORE + _CONFIG],
            meta=ScimMeta(_CONFIG, self.location),
            patch=_YES,
            bulk={**_NO, "maxOperations": 0, "maxPayloadSize": 0},
            filter={**_YES, "maxResults": MAX_PAGE},
            change_password=_NO,
            sort=_YES,
            etag=_YES,
            authentication_schemes=[_BEARER],
        )


def _schema(base: str, schema: Schema) -> dict[str, Any]:
    return {
        "schemas": [f"{CORE}Schema"],
        "id": schema.uri,
        "name": schema.name,
        "description": schema.text,
        "attributes": [attribute.described() for attribute in schema.attributes],
        "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{schema.uri}"},
    }


def _type(base: str, schema: Schema) -> dict[str, Any]:
    return {
        "schemas": [f"{CORE}ResourceType"],
        "id": schema.name,
        "name": schema.name,
        "description": schema.text,
        "endpoint": f"/{schema.name}s",
        "schema": schema.uri,
        "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/{schema.name}"},
    }


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
        raise NotFound(sentence("no_such_scim_resource"))
    return msgspec.convert(objects[name], kind)


class ListOfSchemas(Described, at="/scim/v2/Schemas"):
    @needs(READ, name="listScimSchemas")
    async def on_get(self, context: RequestContext) -> ScimObjects:
        """List the schemas of users and groups."""
        return _listed(self.schemas)


class OneSchema(Described, at="/scim/v2/Schemas/{uri}"):
    @needs(READ, name="getScimSchema", refuses=[NotFound])
    @example_parameters(uri=f"{CORE}User")
    async def on_get(self, context: RequestContext, uri: str) -> ScimSchemaObject:
        """Read a schema."""
        return _named(self.schemas, uri, ScimSchemaObject)


class ListOfResourceTypes(Described, at="/scim/v2/ResourceTypes"):
    @needs(READ, name="listScimResourceTypes")
    async def on_get(self, context: RequestContext) -> ScimObjects:
        """List the types of resources."""
        return _listed(self.types)


class OneResourceType(Described, at="/scim/v2/ResourceTypes/{name}"):
    @needs(READ, name="getScimResourceType", refuses=[NotFound])
    @example_parameters(name="User")
    async def on_get(self, context: RequestContext, name: str) -> ScimResourceType:
        """Read a type of resources."""
        return _named(self.types, name, ScimResourceType)
