"""Groups that directories provision: ``/scim/v2/Groups``."""

from typing import Any, Final

from service.administration.scim_groups import Match, ScimGroups, SentGroup
from service.administration.scim_users import source_of
from service.endpoints.scim import BASE, READ, ScimEndpoint, chosen, meta_of, record_id
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.scim.attributes import GROUP, ScimFault
from service.kernel.scim.patches import patched
from service.records import scim
from service.records.scim import Group
from service.web.messages import operation_metadata as operation
from service.web.messages import scim as messages
from service.web.messages.context import RequestContext
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.scim import (
    LIST_OF,
    ScimGetQuery,
    ScimGroupBody,
    ScimListQuery,
    ScimPatch,
    ScimReference,
    understood,
)

GROUPS: Final = "system:scim:groups"
_EXAMPLE: Final = {"schemas": [GROUP.uri], "displayName": "Auditors", "members": [{"value": "999999999999"}]}
_PATCH: Final = {
    "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    "Operations": [{"op": "add", "path": "members", "value": [{"value": "7"}]}],
}


class ListOfScimGroups(ScimEndpoint[ScimGroups]):
    """``/scim/v2/Groups``."""

    @operation.needs(READ, GROUPS)
    @operation.refuses(Conflict)
    @operation.named("listScimGroups")
    async def on_get(self, context: RequestContext, query: ScimListQuery) -> messages.ScimGroups:
        """List the groups that the caller has provisioned, by id."""
        async with self.database.snapshot() as connection:
            source = await source_of(connection, context.user)
            with understood():
                groups, total = await scim.groups(
                    connection, chosen(source.name, query, GROUP), with_members=not query.hides("members")
                )
        shown = [query.shown(_shown(group)) for group in groups]
        return messages.ScimGroups(LIST_OF, total, query.place[0] + 1, len(shown), shown)

    @operation.needs(GROUPS)
    @operation.named("createScimGroup")
    @operation.created(f"{BASE}/Groups/{{id}}")
    @operation.tagged
    @operation.logged("scim", "create a group", "INSERT")
    @operation.refuses(Conflict)
    @operation.refuses_keys("a name is unique: sent again, it is refused")
    @operation.example_body(_EXAMPLE)
    async def on_post(self, context: RequestContext, body: ScimGroupBody) -> messages.ScimGroup:
        """Create a group; its members get the roles that the directory gives for its name."""
        with understood():
            sent = _sent(body)
        return _answer(context, await self.part.create(context.write, sent))


class OneScimGroup(ScimEndpoint[ScimGroups]):
    """``/scim/v2/Groups/{id}``."""

    @operation.needs(READ, GROUPS)
    @operation.refuses(NotFound, Conflict)
    @operation.named("getScimGroup")
    @operation.tagged
    @operation.example_parameters(id="1")
    async def on_get(self, context: RequestContext, id: str, query: ScimGetQuery) -> messages.ScimGroup:
        """Read a group that the caller has provisioned."""
        async with self.database.snapshot() as connection:
            source = await source_of(connection, context.user)
            with_members = not query.hides("members")
            group = await scim.one_group(connection, source.name, record_id(id), with_members=with_members)
        if group is None:
            raise NotFound("There is no such group")
        shown: messages.ScimGroup = query.shown(_answer(context, group))
        return shown

    @operation.needs(GROUPS)
    @operation.named("updateScimGroup")
    @operation.tagged
    @operation.logged("scim", "replace a group", "UPDATE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_body(_EXAMPLE)
    @operation.example_parameters(id="999999999999")
    async def on_put(self, context: RequestContext, id: str, body: ScimGroupBody) -> messages.ScimGroup:
        """Replace a group and its members; who loses the group loses its roles with the next request."""
        with understood():
            sent = _sent(body)
        match: Match = unchanged(context)
        return _answer(context, await self.part.update(context.write, record_id(id), lambda _: sent, match))

    @operation.needs(GROUPS)
    @operation.named("patchScimGroup")
    @operation.tagged
    @operation.logged("scim", "patch a group", "UPDATE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_body(_PATCH)
    @operation.example_parameters(id="999999999999")
    async def on_patch(self, context: RequestContext, id: str, body: ScimPatch) -> messages.ScimGroup:
        """Patch a group: the edit is that of a replacement by the result."""
        operations = [each.as_sent() for each in body.operations]
        with understood() as deviations:

            def change(stored: Group) -> SentGroup:
                made = patched(GROUP, _attributes(stored), operations, deviations)
                return _sent(ScimGroupBody.of_attributes(made))

            group = await self.part.update(context.write, record_id(id), change, unchanged(context))
        return _answer(context, group)

    @operation.needs(GROUPS)
    @operation.named("deleteScimGroup")
    @operation.answers(204)
    @operation.logged("scim", "delete a group", "DELETE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_parameters(id="999999999999")
    async def on_delete(self, context: RequestContext, id: str) -> None:
        """Delete a group; its members lose its roles."""
        await self.part.delete(context.write, record_id(id), unchanged(context))


def _sent(body: ScimGroupBody) -> SentGroup:
    """Return the group of a body; raises ScimFault for a group among its members."""
    members = body.members or ()
    if any((each.type or "User").lower() != "user" for each in members):
        raise ScimFault("invalidValue", "members: Only users are members of groups")
    return SentGroup(body.display_name, body.external_id, frozenset(each.value for each in members))


def _attributes(group: Group) -> dict[str, Any]:
    """Return the attributes of a stored group that a patch changes."""
    made: dict[str, Any] = {
        "displayName": group.display_name,
        "externalId": group.external_id,
        "members": [{"value": str(user_id)} for user_id, _ in group.members],
    }
    return {name: value for name, value in made.items() if value}


def _shown(group: Group) -> messages.ScimGroup:
    members = [
        ScimReference(str(user_id), f"{BASE}/Users/{user_id}", name, "User")
        for user_id, name in group.members
    ]
    return messages.ScimGroup(
        schemas=[GROUP.uri],
        id=str(group.id),
        meta=meta_of("Group", group.id, group.create_time, group.update_time, group.version),
        external_id=group.external_id,
        display_name=group.display_name,
        members=members or None,
    )


def _answer(context: RequestContext, group: Group) -> messages.ScimGroup:
    answer_tag(context, version_tag(group.version))
    return _shown(group)
