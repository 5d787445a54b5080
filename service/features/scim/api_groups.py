"""Groups provisioned by directories: ``/scim/v2/Groups``."""

from typing import Final

from service.features.scim import messages
from service.features.scim import store as scim
from service.features.scim.api_kinds import ScimEndpoint, ScimKind, meta_of, searches_all
from service.features.scim.api_users import USERS
from service.features.scim.attributes import GROUP, PATCH_OF, ScimFault
from service.features.scim.groups import ScimGroups, SentGroup
from service.features.scim.messages import ScimGroupBody, ScimReference
from service.features.scim.store import Group


def _sent(body: ScimGroupBody) -> SentGroup:
    """Return the group of a body; raises ScimFault for a group among its members."""
    members = body.members or ()
    other = next((each for each in members if (each.type or "User").lower() != "user"), None)
    if other is not None:
        named = f"{other.value[:64]} is a {(other.type or '')[:64]}"
        raise ScimFault("invalidValue", f"members: Only users are members of groups, and {named}")
    return SentGroup(body.display_name, body.external_id, frozenset(each.value for each in members))


def _shown(group: Group, base: str) -> messages.ScimGroup:
    members = [
        ScimReference(str(user_id), f"{base}/Users/{user_id}", name, "User")
        for user_id, name in group.members
    ]
    return messages.ScimGroup(
        schemas=[GROUP.uri],
        id=str(group.id),
        meta=meta_of(base, "Group", group),
        external_id=group.external_id,
        display_name=group.display_name,
        members=members or None,
    )


GROUPS: Final = ScimKind(
    schema=GROUP,
    code="system:scim:groups",
    linked="members",
    body=ScimGroupBody,
    answer=messages.ScimGroup,
    page=messages.ScimGroups,
    find=scim.groups,
    read=scim.one_group,
    sent=_sent,
    shown=_shown,
    example={"schemas": [GROUP.uri], "displayName": "Auditors", "members": [{"value": "999999999999"}]},
    patch_example={
        "schemas": [PATCH_OF],
        "Operations": [{"op": "add", "path": "members", "value": [{"value": "7"}]}],
    },
)


class ListOfScimGroups(ScimEndpoint[ScimGroups], at="/scim/v2/Groups"):
    on_get = GROUPS.lists("List the groups provisioned by the caller, by id unless sorted.")
    on_post = GROUPS.creates("Create a group; its members get the roles mapped to its name.")


class SearchForScimGroups(ScimEndpoint[ScimGroups], at="/scim/v2/Groups/.search"):
    on_post = GROUPS.searches("Search the groups provisioned by the caller (RFC 7644 §3.4.3).")


class OneScimGroup(ScimEndpoint[ScimGroups], at="/scim/v2/Groups/{id}"):
    on_get = GROUPS.reads("Read a group provisioned by the caller.")
    on_put = GROUPS.replaces(
        "Replace a group and its members; removed members lose its roles with their next request."
    )
    on_patch = GROUPS.patches("Patch a group: the edit is that of a replacement by the result.")
    on_delete = GROUPS.deletes("Delete a group; its members lose its roles.")


class SearchInScim(ScimEndpoint[ScimGroups], at="/scim/v2/.search"):
    on_post = searches_all(
        "Search the users and groups provisioned by the caller (RFC 7644 §3.4.3).", USERS, GROUPS
    )
