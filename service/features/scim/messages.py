"""SCIM messages (RFC 7643, RFC 7644): bodies, queries and answers, and the parsing of bodies.

They have a media type of their own and no envelope. Accepted deviations from the specification are logged.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, Self, TypeVar

import msgspec
import structlog
from msgspec import UNSET, Meta, field

from service.audit.redaction import without_keys
from service.errors import BadRequest, Conflict, InvalidScim, Refusal, UnsupportedMediaType, ValidationFailed
from service.features.scim import attributes
from service.features.scim.attributes import GROUP, MESSAGES, USER, Deviations, ScimFault
from service.features.scim.attributes import Schema as AttributeSchema
from service.features.scim.patches import MAX_OPERATIONS
from service.features.scim.sentences import sentence
from service.kernel.value_rules import MAX_ID
from service.web.messages.bodies import JSON, well_formed
from service.web.messages.dialect import BodyReader, Dialect, OwnBody
from service.web.messages.faults import check_text, faults_of
from service.web.messages.request import Request
from service.web.messages.schema import ProtocolSchema, Schema

MEDIA: Final = "application/scim+json"
MAX_BODY: Final = 4 * 1024 * 1024
"""The maximum size of a body in bytes: a group with all its members."""
MAX_TEXT: Final = 254
"""The maximum length of a text of a resource in characters."""
MAX_PAGE: Final = 200
"""The maximum number of resources of a page."""

_MEDIA: Final = re.compile(
    r'application/(?:scim\+)?json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*', re.IGNORECASE
)
_MOST_FAULTS: Final = 10
_log = structlog.get_logger(__name__)

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
ScimNames = Annotated[list[Text], Meta(max_length=100)]
Number = Annotated[int, Meta(ge=-MAX_ID, le=MAX_ID)]
"""A number of a query; smaller values count as the minimum (RFC 7644 §3.4.2.4)."""
ScimId = Annotated[str, Meta(examples=["7"], description="The id, as a text.")]


@contextmanager
def understood() -> Iterator[Deviations]:
    """Let the block parse SCIM: log the noted deviations, and turn a ``ScimFault`` into ``InvalidScim``."""
    deviations = Deviations()
    try:
        yield deviations
    except ScimFault as fault:
        raise InvalidScim(fault.detail, scim_type=fault.scim_type) from None
    if noted := list(deviations):
        _log.info("SCIM beside the specification was understood", deviations=noted)


class ScimSchema(ProtocolSchema, omit_defaults=True, rename="camel"):
    """The base of bodies and answers of SCIM; a member that is not there is left out."""


class ScimBodySchema(ScimSchema, OwnBody, kw_only=True):
    """The base of bodies of SCIM: ``read_sent`` returns what of a JSON object is kept."""

    media_types: ClassVar[tuple[str, ...]] = (MEDIA, JSON)

    schemas: ScimNames | None = None
    """The URIs of the schemas of the message; ``read_sent`` checks them."""

    @classmethod
    def body_reader(cls) -> BodyReader:
        return ScimBody(cls)

    @classmethod
    def read_sent(cls, sent: Mapping[str, Any], deviations: Deviations) -> Mapping[str, Any]:
        """Return the members by their internal names; raises ScimFault."""
        raise NotImplementedError


class ResourceBody(ScimBodySchema):
    """The base of resources that are sent."""

    schema: ClassVar[AttributeSchema]

    @classmethod
    def read_sent(cls, sent: Mapping[str, Any], deviations: Deviations) -> Mapping[str, Any]:
        """Return the stored attributes; raises ScimFault."""
        schemas = next((value for name, value in sent.items() if name.lower() == "schemas"), None)
        if schemas is None:
            deviations.note("resource without schemas")
        elif not isinstance(schemas, list) or cls.schema.uri not in schemas:
            raise ScimFault("invalidValue", f"schemas must name {cls.schema.uri}")
        return attributes.read(cls.schema, sent, deviations)

    @classmethod
    def of_attributes(cls, kept: Mapping[str, Any]) -> Self:
        """Return the body with these attributes; raises ScimFault."""
        try:
            return msgspec.convert(kept, cls)
        except msgspec.ValidationError:
            raise _fault_of(kept, cls) from None


class ScimName(ScimSchema):
    """The name of a person."""

    formatted: Annotated[str, Meta(max_length=MAX_TEXT)] | None = None


class ScimEmail(ScimSchema):
    """An address."""

    value: Text | None = None
    type: Text | None = None
    primary: bool | None = None


class ScimReference(ScimSchema):
    """A group of a user, or a member of a group."""

    value: ScimId
    ref: str | None = field(default=None, name="$ref")
    display: str | None = None
    type: str | None = None


class ScimUserBody(ResourceBody):
    """A user to create or replace (RFC 7643 §4.1). Unsupported attributes are ignored."""

    schema = USER

    user_name: Annotated[str, Meta(max_length=MAX_TEXT, examples=["heron@example.org"])]
    external_id: Text | None = None
    name: ScimName | None = None
    display_name: Annotated[str, Meta(max_length=MAX_TEXT)] | None = None
    active: bool | None = None
    preferred_language: Annotated[str, Meta(max_length=MAX_TEXT, examples=["zh-CN"])] | None = None
    timezone: Annotated[str, Meta(max_length=MAX_TEXT, examples=["Asia/Shanghai"])] | None = None
    emails: list[ScimEmail] | None = None


class ScimMember(ScimSchema):
    """A member of a group."""

    value: ScimId
    type: str | None = None


class ScimGroupBody(ResourceBody):
    """A group to create or replace (RFC 7643 §4.2)."""

    schema = GROUP

    display_name: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT, examples=["Auditors"])]
    external_id: Text | None = None
    members: list[ScimMember] | None = None


class ScimOperation(ScimSchema):
    """An operation of a patch (RFC 7644 §3.5.2)."""

    op: Annotated[str, Meta(examples=["replace"])]
    path: str | None = None
    value: Any = UNSET

    def as_sent(self) -> dict[str, Any]:
        """Return the members that were sent."""
        members = {"op": self.op, "path": self.path, "value": self.value}
        return {name: value for name, value in members.items() if value is not UNSET}


class ScimPatch(ScimBodySchema):
    """A patch (RFC 7644 §3.5.2)."""

    operations: Annotated[list[ScimOperation], Meta(min_length=1, max_length=MAX_OPERATIONS)] = field(
        name="Operations"
    )

    @classmethod
    def read_sent(cls, sent: Mapping[str, Any], deviations: Deviations) -> Mapping[str, Any]:
        """Return the operations; raises ScimFault."""
        operations = next((value for name, value in sent.items() if name.lower() == "operations"), None)
        if not isinstance(operations, list) or not all(isinstance(each, Mapping) for each in operations):
            raise ScimFault("invalidSyntax", "A patch has a list of Operations")
        if "Operations" not in sent:
            deviations.note("operations in small letters")
        return {"Operations": [{name.lower(): value for name, value in each.items()} for each in operations]}


class ScimMeta(ScimSchema):
    """Facts about a resource."""

    resource_type: str
    location: str
    created: str | None = None
    last_modified: str | None = None
    version: str | None = None


class ScimResource(ScimSchema):
    """The base of resources that are answered."""

    schemas: list[str]
    id: ScimId
    meta: ScimMeta | None = None
    external_id: str | None = None


class ScimUser(ScimResource):
    """A user (RFC 7643 §4.1)."""

    user_name: str | None = None
    name: ScimName | None = None
    display_name: str | None = None
    active: bool | None = None
    preferred_language: str | None = None
    timezone: str | None = None
    emails: list[ScimEmail] | None = None
    groups: list[ScimReference] | None = None


class ScimGroup(ScimResource):
    """A group (RFC 7643 §4.2)."""

    display_name: str | None = None
    members: list[ScimReference] | None = None


class ScimList(ScimSchema):
    """The base of pages of resources (RFC 7644 §3.4.2): the first has ``startIndex`` 1."""

    schemas: list[str]
    total_results: Annotated[int, Meta(ge=0)]
    start_index: Annotated[int, Meta(ge=1)]
    items_per_page: Annotated[int, Meta(ge=0)]


class ScimUsers(ScimList):
    """A page of users."""

    resources: list[ScimUser] = field(name="Resources")


class ScimGroups(ScimList):
    """A page of groups."""

    resources: list[ScimGroup] = field(name="Resources")


class ScimObjects(ScimList):
    """All schemas, or all types of resources."""

    resources: list[dict[str, Any]] = field(name="Resources")


class ScimObject(ScimSchema):
    """The service configuration, a schema or a resource type (RFC 7643 §5 to §7)."""

    schemas: list[str]
    meta: ScimMeta


class ScimError(ScimSchema):
    """An error (RFC 7644 §3.12)."""

    schemas: list[str]
    status: Annotated[str, Meta(examples=["400"])]
    scim_type: Annotated[str, Meta(examples=["invalidFilter"])] | None = None
    detail: str | None = None


class ScimGetQuery(Schema):
    """Which attributes of a resource are answered, such as ``userName`` and ``name.formatted``."""

    attributes: Annotated[str, Meta(description="Only these, comma between.")] | None = None
    excluded_attributes: Annotated[str, Meta(description="All but these.", examples=["members"])] | None = (
        None
    )

    def shown(self, resource: ScimResource, schema: AttributeSchema) -> Any:
        """Return ``resource`` with the requested attributes; it always has its id and schemas."""
        only, without = _named(self.attributes, schema), _named(self.excluded_attributes, schema) or {}
        if only is None and not without:
            return resource
        listed = without if only is None else only
        made: dict[str, Any] = {}
        for name, value in msgspec.to_builtins(resource).items():
            parts = listed.get(name.lower())
            if name in ("schemas", "id") or (parts is None and only is None):
                made[name] = value
            elif parts is not None and (kept := _parts(value, parts, kept=only is not None)):
                made[name] = kept
        return made

    def hides(self, name: str, schema: AttributeSchema) -> bool:
        """Return whether the attribute with this lower-case name is excluded from the answer."""
        if (only := _named(self.attributes, schema)) is not None:
            return name not in only
        return (_named(self.excluded_attributes, schema) or {}).get(name) == frozenset()


SortOrder = Literal["ascending", "descending"]


class ScimListQuery(ScimGetQuery):
    """A page of resources, and which."""

    filter: (
        Annotated[str, Meta(description="RFC 7644 §3.4.2.2.", examples=['userName eq "heron"'])] | None
    ) = None
    sort_by: Annotated[str, Meta(description="An attribute.", examples=["userName"])] | None = None
    sort_order: SortOrder = "ascending"
    start_index: Annotated[Number, Meta(description="The position of the first result, from 1.")] = 1
    count: Annotated[Number, Meta(description=f"The largest number of results, at most {MAX_PAGE}.")] = 100

    @property
    def place(self) -> tuple[int, int]:
        """Return the numbers of resources to skip and to return, raised to their minimum."""
        return min(max(self.start_index, 1), 10**9) - 1, min(max(self.count, 0), MAX_PAGE)


class ScimSearch(ScimBodySchema):
    """A search (RFC 7644 §3.4.3): the query of a list, in a body."""

    attributes: ScimNames | None = None
    excluded_attributes: ScimNames | None = None
    filter: str | None = None
    sort_by: Text | None = None
    sort_order: SortOrder = "ascending"
    start_index: Number = 1
    count: Number = 100

    @classmethod
    def read_sent(cls, sent: Mapping[str, Any], deviations: Deviations) -> Mapping[str, Any]:
        """Return the members of a search; raises ScimFault."""
        schemas = sent.get("schemas")
        if not isinstance(schemas, list | None):
            raise ScimFault("invalidValue", "schemas must be a list")
        if SEARCH not in (schemas or ()):
            deviations.note("search without schemas")
        return {name: value for name, value in sent.items() if value is not None}

    @property
    def query(self) -> ScimListQuery:
        """The search as a query."""
        members = {name: getattr(self, name) for name in ScimListQuery.__struct_fields__}
        for name in ("attributes", "excluded_attributes"):
            members[name] = None if members[name] is None else ",".join(members[name])
        return ScimListQuery(**members)


def _named(listed: str | None, schema: AttributeSchema) -> dict[str, frozenset[str]] | None:
    """Return the lower-case attributes of a list, with the parts that it names.

    No parts stand for all parts. Attributes of other schemas are left out.
    """
    if listed is None:
        return None
    made: dict[str, frozenset[str]] = {}
    for text in listed.split(","):
        name, _, part = (schema.unqualified(text.strip()) or "").lower().partition(".")
        if name and (not part or made.get(name, True)):
            made[name] = made.get(name, frozenset()) | {part} if part else frozenset()
    return made


def _parts(value: Any, parts: frozenset[str], *, kept: bool) -> Any:
    """Return a value with only some ``parts``, or without them; no parts stand for all parts."""
    if not parts:
        return value if kept else None
    if isinstance(value, list):
        return [item for each in value if (item := _parts(each, parts, kept=kept))]
    if not isinstance(value, dict):
        return None if kept else value
    return {name: item for name, item in value.items() if (name.lower() in parts) == kept}


SEARCH: Final = f"{MESSAGES}SearchRequest"
LIST_OF: Final = [f"{MESSAGES}ListResponse"]
ERROR: Final = [f"{MESSAGES}Error"]

S = TypeVar("S", bound=ScimBodySchema)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScimBody(Generic[S]):
    """Reads the bodies of one operation as ``kind``."""

    kind: type[S]

    async def read(self, request: Request) -> S:
        """Return the body; raises UnsupportedMediaType, TooLarge, BadRequest and InvalidScim."""
        if not _MEDIA.fullmatch(request.content_type or "") or request.raw_header(b"content-encoding"):
            raise UnsupportedMediaType(sentence("scim_body_type", type=MEDIA))
        raw = await request.body_within(MAX_BODY)
        plain = well_formed(raw)
        check_text(plain)
        with understood() as deviations:
            try:
                sent = msgspec.json.decode(raw)
            except msgspec.MsgspecError:
                sent = None
            if not isinstance(sent, dict):
                raise ScimFault("invalidSyntax", "The body must be a JSON object")
            kept = self.kind.read_sent(sent, deviations)
            try:
                return msgspec.convert(kept, self.kind)
            except msgspec.ValidationError:
                raise _fault_of(kept, self.kind) from None


def _fault_of(sent: Mapping[str, Any], kind: Any) -> ScimFault:
    """Return all faults of a message as one error: a SCIM error has one text (RFC 7644 §3.12)."""
    faults = faults_of(sent, kind)[:_MOST_FAULTS]
    return ScimFault("invalidValue", "; ".join(f"{field}: {message}" for field, message in faults))


def error_of(refusal: Refusal) -> tuple[int, ScimError]:
    """Return the status of ``refusal`` and its document, an error of SCIM (RFC 7644 §3.12)."""
    status, detail = status_of(type(refusal)), refusal.detail
    scim_type = refusal.extra.get("scimType")
    if isinstance(refusal, ValidationFailed):
        scim_type = "invalidValue"
        detail = "; ".join("{field}: {message}".format(**fault) for fault in refusal.extra["errors"])
    elif isinstance(refusal, Conflict) and refusal.extra.get("rule") == "unique":
        scim_type = "uniqueness"
    return status, ScimError(ERROR, str(status), scim_type, without_keys(detail))


def status_of(refusal: type[Refusal]) -> int:
    """Return the status of a refusal; SCIM has no 422."""
    return BadRequest.status if issubclass(refusal, ValidationFailed) else refusal.status


DIALECT: Final = Dialect(
    prefix="/scim/",
    media=MEDIA,
    error=ScimError,
    error_of=error_of,
    status_of=status_of,
    refusals=(InvalidScim,),
)
"""The message format of provisioning clients."""
