"""Directories and the roles that they may grant: ``/api/directory``."""

from typing import Annotated, Final

from msgspec import Meta

from service.errors import Conflict, NotFound, PreconditionFailed, ValidationFailed
from service.features.directories import directory
from service.features.directories import store as directories
from service.features.directories.directory import MAX_GROUP, MOST_GROUPS, Directories, Match
from service.features.directories.managed import is_name
from service.features.directories.schema import Directory, DirectoryValues, Kind
from service.features.directories.sentences import sentence
from service.kernel.codes import MAX_CODE_LENGTH
from service.kernel.text import unseen_fault
from service.records import accounts
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, by_session, needs, writes
from service.web.messages.preconditions import answer_tag, content_tag, require_match
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Schema

DirectoryName = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]{0,31}$", examples=["entra"])]
_MOST_CODES: Final = 500


class MappedGroup(Schema):
    """A group of the directory, by its exact name, and the codes of its mapped roles."""

    group: Annotated[str, Meta(min_length=1, max_length=MAX_GROUP, examples=["Auditors"])]
    roles: Annotated[list[str], Meta(max_length=100, examples=[["auditor"]])]


_Mapping = Annotated[list[MappedGroup], Meta(max_length=MOST_GROUPS)]
_Ceiling = Annotated[
    list[Annotated[str, Meta(max_length=MAX_CODE_LENGTH)]],
    Meta(
        max_length=_MOST_CODES,
        description="The permission ceiling of the directory.",
        examples=[["system:operation-log:list"]],
    ),
]
_DirectoryKind = Annotated[
    Kind, Meta(description="`oidc`: a provider of the settings, by its name; `scim`: a provisioning client.")
]
_Client = Annotated[
    str | None,
    Meta(description="The user name of the provisioning service account; null for `oidc`."),
]


class DirectoryBody(Schema, kw_only=True):
    """The mapped roles of a directory's groups, and the ceiling of permissions."""

    kind: _DirectoryKind
    client: _Client = None
    mapping: _Mapping
    ceiling: _Ceiling
    enabled: Annotated[
        bool,
        Meta(description="False disconnects the directory: it assigns no roles, and sign-ins are refused."),
    ] = True


@shows(Directory, leave_out=("client_id", "waiting_after"))
class DirectoryOfService(Schema, kw_only=True):
    """A directory. Each edit increments `version`; a new directory begins with 1."""

    name: DirectoryName
    kind: _DirectoryKind
    client: _Client
    mapping: _Mapping
    ceiling: _Ceiling


class DirectoryList(Schema):
    """All directories, by name."""

    items: list[DirectoryOfService]


_EXAMPLE: Final = {
    "kind": "oidc",
    "mapping": [{"group": "Auditors", "roles": ["auditor"]}],
    "ceiling": ["system:operation-log:list"],
}


class DirectoryEndpoint(Responders):
    """Base class of the endpoints of directories."""

    def __init__(self, database: Database, changes: Directories) -> None:
        self.database = database
        self.changes = changes


class ListOfDirectories(DirectoryEndpoint, at="/api/directory/list"):
    @needs("system:directory:list", name="listDirectories")
    async def on_get(self, context: RequestContext) -> DirectoryList:
        """List directories with their mapped roles and permission ceilings."""
        async with self.database.snapshot() as connection:
            stored = await directories.every(connection)
        return DirectoryList([_answer_of(each) for each in stored])


Source = Annotated[str, Meta(max_length=32, examples=["nowhere"])]


class OneDirectory(DirectoryEndpoint, at="/api/directory/{source}"):
    @needs("system:directory:list", name="getDirectory", refuses=[NotFound], tagged=True)
    async def on_get(self, context: RequestContext, source: Source) -> DirectoryOfService:
        """Read the mapped roles and the permission ceiling of a directory."""
        stored = await directory.read(self.database, source)
        shown = _answer_of(stored)
        answer_tag(context, content_tag(shown))
        return shown

    @needs(
        "system:directory:update", name="setDirectory", refuses=[Conflict, PreconditionFailed], tagged=True
    )
    @by_session("change-access")
    @writes("set what it hands out", "UPDATE", example=_EXAMPLE, dry_run=True)
    async def on_put(
        self, context: RequestContext, body: DirectoryBody, source: Source
    ) -> DirectoryOfService:
        """Set the roles of a directory's groups, and the ceiling of its permissions.

        Callers must be able to grant every code of the new and the old ceiling. Assignments from the
        directory beyond the ceiling end.
        """
        values = await self._values(source, body)
        saved = await self.changes.put(context.write, source, values, _unchanged(context))
        shown = _answer_of(saved.record)
        answer_tag(context, content_tag(shown))
        return shown

    @needs("system:directory:update", name="deleteDirectory", refuses=[NotFound, PreconditionFailed])
    @by_session("change-access")
    @writes("delete", "DELETE", dry_run=True)
    async def on_delete(self, context: RequestContext, source: Source) -> None:
        """Delete a directory; all roles from it end, and its accounts are managed here again."""
        await self.changes.delete(context.write, source, _unchanged(context))

    async def _values(self, source: str, body: DirectoryBody) -> DirectoryValues:
        faults = []
        if not is_name(source):
            faults.append(("source", sentence("not_a_directory_name", pattern="[a-z][a-z0-9-]{0,31}")))
        groups = [each.group for each in body.mapping]
        unseen = ((place, unseen_fault(group)) for place, group in enumerate(groups))
        faults += [(f"mapping[{place}].group", fault) for place, fault in unseen if fault is not None]
        if len(set(groups)) != len(groups):
            faults.append(("mapping", sentence("group_twice")))
        client = None
        if body.client is not None:
            async with self.database.snapshot() as connection:
                client = await accounts.standing(connection, body.client)
            if client is None or client.kind != "service":
                faults.append(("client", sentence("no_such_service_account")))
        if faults:
            raise ValidationFailed(*faults)
        return DirectoryValues(
            kind=body.kind,
            client_id=None if client is None else client.user_id,
            mapping={each.group: list(dict.fromkeys(each.roles)) for each in body.mapping},
            ceiling=tuple(sorted(set(body.ceiling))),
            enabled=body.enabled,
        )


def _answer_of(stored: Directory) -> DirectoryOfService:
    mapping = [MappedGroup(group, list(codes)) for group, codes in sorted(stored.mapping.items())]
    return DirectoryOfService.of(stored, mapping=mapping)


def _unchanged(context: RequestContext) -> Match:
    def match(stored: Directory | None) -> None:
        require_match(context, content_tag(None if stored is None else _answer_of(stored)))

    return match
