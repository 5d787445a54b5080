"""SCIM patches: those of the specification, and what Entra and Okta send."""

from typing import Any, Final

import pytest

from service.features.scim.attributes import GROUP, USER, Deviations, ScimFault, read
from service.features.scim.patches import patched
from tests.support.cases import with_each

HERON: Final[dict[str, Any]] = {
    "userName": "heron",
    "active": True,
    "name": {"formatted": "Heron"},
    "emails": [{"value": "heron@example.org", "type": "work", "primary": True}],
}
STAFF: Final[dict[str, Any]] = {"displayName": "Staff", "members": [{"value": "7"}, {"value": "8"}]}
SHOWN: Final[dict[str, Any]] = {
    "schemas": [GROUP.uri],
    "displayName": "Staff",
    "members": [
        {"value": "7", "$ref": "/scim/v2/Users/7", "display": "heron", "type": "User"},
        {"value": "8", "$ref": "/scim/v2/Users/8", "display": "egret", "type": "User"},
    ],
}
"""A group as a read shows it."""


def patch(schema: Any, resource: dict[str, Any], *operations: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the patched resource, and what was noted."""
    deviations = Deviations()
    return patched(schema, resource, operations, deviations), list(deviations)


@with_each(
    ("operation", "changed", "noted"),
    [
        ({"op": "replace", "path": "active", "value": False}, {"active": False}, []),
        (
            {"op": "Replace", "path": "active", "value": "False"},
            {"active": False},
            ["op in capital letters", "boolean as text"],
        ),
        ({"op": "replace", "value": {"active": False}}, {"active": False}, ["replace without a path"]),
        (
            {"op": "replace", "value": {"name.formatted": "Grey Heron"}},
            {"name": {"formatted": "Grey Heron"}},
            ["replace without a path"],
        ),
        (
            {"op": "add", "path": "displayName", "value": [{"$ref": None, "value": "Grey"}]},
            {"displayName": "Grey"},
            ["list of one value"],
        ),
        (
            {"op": "add", "path": "urn:ietf:params:scim:schemas:core:2.0:User:displayName", "value": "Grey"},
            {"displayName": "Grey"},
            ["path with a URN"],
        ),
        (
            {
                "op": "add",
                "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
                "value": "Ponds",
            },
            {},
            ["path with a URN", "attribute that is not kept"],
        ),
        (
            {"op": "replace", "path": 'emails[type eq "work"].value', "value": "grey@example.org"},
            {"emails": [{"value": "grey@example.org", "type": "work", "primary": True}]},
            [],
        ),
        (
            {"op": "replace", "path": 'emails[type eq "home"].value', "value": "h@home.example"},
            {"emails": [*HERON["emails"], {"type": "home", "value": "h@home.example"}]},
            ["value that the path chooses and is not there"],
        ),
        ({"op": "remove", "path": 'emails[type eq "work"]'}, {"emails": None}, []),
        ({"op": "remove", "path": "name.formatted"}, {"name": None}, []),
    ],
)
def test_a_user_is_patched(operation: dict[str, Any], changed: dict[str, Any], noted: list[str]) -> None:
    expected = {name: value for name, value in (HERON | changed).items() if value is not None}
    assert patch(USER, HERON, operation) == (expected, noted)
    assert HERON["active"] is True


@with_each(
    ("operation", "members"),
    [
        ({"op": "add", "path": "members", "value": [{"value": "9"}, {"value": "7"}]}, ["7", "8", "9"]),
        ({"op": "Add", "path": "members", "value": {"value": "9"}}, ["7", "8", "9"]),
        ({"op": "remove", "path": 'members[value eq "7"]'}, ["8"]),
        ({"op": "Remove", "path": "members", "value": [{"value": "7"}]}, ["8"]),
        ({"op": "remove", "path": "members"}, []),
        ({"op": "replace", "path": "members", "value": [{"value": "9"}]}, ["9"]),
        ({"op": "replace", "path": "members", "value": []}, []),
        ({"op": "replace", "value": {"id": "x", "members": [{"value": "9"}]}}, ["9"]),  # as Okta repeats it
    ],
)
def test_a_group_is_patched(operation: dict[str, Any], members: list[str]) -> None:
    made, _ = patch(GROUP, STAFF, operation)
    assert [member["value"] for member in made.get("members", ())] == members


@with_each(
    ("operation", "members"),
    [
        ({"op": "remove", "path": "members", "value": [SHOWN["members"][0]]}, ["8"]),
        ({"op": "remove", "path": "members", "value": SHOWN["members"][0]}, ["8"]),
        ({"op": "remove", "path": "members", "value": [{"value": "7", "display": "Heron of old"}]}, ["8"]),
        ({"op": "remove", "path": "members", "value": [{"value": "7"}, {"display": "EGRET"}]}, []),
        ({"op": "remove", "path": "members", "value": [{"$ref": "/scim/v2/Users/7"}]}, ["8"]),
        ({"op": "remove", "path": "members", "value": [{"value": "9", "type": "User"}]}, ["7", "8"]),
        ({"op": "remove", "path": 'members[value eq "7" and type eq "User"]'}, ["8"]),
        ({"op": "remove", "path": 'members[display eq "Heron"]'}, ["8"]),
        ({"op": "remove", "path": 'members[$ref ew "/Users/7"]'}, ["8"]),
        ({"op": "remove", "path": 'members[type eq "User"]'}, []),
        ({"op": "remove", "path": 'members[type eq "Group"]'}, ["7", "8"]),
        ({"op": "remove", "path": 'members[value eq "7"].value'}, ["8"]),
        ({"op": "add", "path": "members", "value": [{"value": "7"}, {"value": "9"}]}, ["7", "8", "9"]),
    ],
)
def test_members_are_chosen_by_what_a_read_shows_of_them(
    operation: dict[str, Any], members: list[str]
) -> None:
    made, _ = patch(GROUP, SHOWN, operation)
    assert [member["value"] for member in made.get("members", ())] == members


def test_a_member_that_is_added_as_a_group_is_not_taken_for_the_user_of_that_id() -> None:
    made, _ = patch(
        GROUP, SHOWN, {"op": "add", "path": "members", "value": [{"value": "7", "type": "Group"}]}
    )
    assert [member["type"] for member in made["members"]] == ["Group", "User"]


@with_each(
    ("schema", "resource", "name"),
    [
        *((GROUP, STAFF, name) for name in ("members", 'members[value eq "7"]', "displayName")),
        *((USER, HERON, name) for name in ("emails", "emails.type", "active", "name", "name.formatted")),
    ],
)
def test_null_adds_nothing_and_removes_nothing(schema: Any, resource: dict[str, Any], name: str) -> None:
    assert patch(schema, resource, {"op": "add", "path": name, "value": None}) == (resource, [])
    if "[" not in name:
        made, _ = patch(schema, resource, {"op": "add", "value": {name: None}})
        assert made == resource


@with_each(
    ("operation", "scim_type"),
    [
        ({"op": "copy", "path": "active", "value": True}, "invalidSyntax"),
        ({"path": "active", "value": True}, "invalidSyntax"),
        ({"op": "remove"}, "noTarget"),
        ({"op": "replace", "value": "x"}, "invalidValue"),
        ({"op": "replace", "path": "active"}, "invalidValue"),
        ({"op": "replace", "path": "active", "value": "perhaps"}, "invalidValue"),
        ({"op": "replace", "path": "emails[", "value": "x"}, "invalidPath"),
        ({"op": "replace", "path": 'name[formatted eq "x"]', "value": "x"}, "invalidPath"),
        ({"op": "replace", "path": 'emails[type ne "work"].value', "value": "x"}, "noTarget"),
        ({"op": "replace", "path": "id", "value": "9"}, "mutability"),
        ({"op": "add", "path": "groups", "value": [{"value": "1"}]}, "mutability"),
        ({"op": "remove", "path": "userName"}, "mutability"),
        ({"op": "replace", "path": "password", "value": "secret-word"}, "invalidValue"),
        ({"op": "replace", "value": {"password": "secret-word"}}, "invalidValue"),
    ],
)
def test_a_faulty_operation_is_refused_and_its_value_is_not_repeated(
    operation: dict[str, Any], scim_type: str
) -> None:
    with pytest.raises(ScimFault) as refused:
        patch(USER, HERON, operation)
    assert refused.value.scim_type == scim_type
    assert "secret-word" not in refused.value.detail


def test_what_a_client_sends_beside_the_kept_attributes_is_left_out_and_noted() -> None:
    deviations = Deviations()
    sent = {"schemas": [USER.uri], "userName": "heron", "title": "Dr.", "id": "3", "ACTIVE": [True]}
    assert read(USER, sent, deviations) == {"userName": "heron", "active": True}
    assert list(deviations) == ["attribute that is not kept", "list of one value"]
    with pytest.raises(ScimFault, match="password"):
        read(USER, {"userName": "heron", "password": "secret-word"}, Deviations())
