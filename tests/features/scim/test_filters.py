"""SCIM filters: how they are read, what they match, and what is refused."""

from typing import Any, Final

import pytest

from service.features.scim.attributes import GROUP, USER, ScimFault
from service.features.scim.filters import MAX_DEPTH, MAX_LENGTH, matches, parse_filter
from tests.support.cases import with_each

HERON: Final[dict[str, Any]] = {
    "id": "7",
    "userName": "Heron@example.org",
    "externalId": "00u1",
    "name": {"formatted": "Grey Heron"},
    "active": True,
    "emails": [
        {"value": "heron@example.org", "type": "work", "primary": True},
        {"value": "h@home.example", "type": "home"},
    ],
    "meta": {"lastModified": "2026-11-24T10:00:00.000Z"},
}


@with_each(
    "text",
    [
        'userName eq "heron@EXAMPLE.org"',
        'USERNAME Eq "heron@example.org"',
        'urn:ietf:params:scim:schemas:core:2.0:User:userName sw "heron"',
        'externalId eq "00u1"',
        'not (externalId eq "00U1")',
        'name.formatted co "HERON" and active eq true',
        'emails[type eq "work" and value ew ".org"]',
        'emails[type eq "work"].value eq "heron@example.org"',
        'emails co "home.example"',
        "displayName eq null",
        'displayName pr or (active eq "True")',
        'meta.lastModified ge "2026-11-24T11:00:00+01:00"',
        'userName ne "x" and not (emails.value eq "x")',
        'id eq "8" or id eq "7" and active eq true',
    ],
)
def test_a_filter_matches(text: str) -> None:
    assert matches(parse_filter(text, USER), HERON)


@with_each(
    "text",
    [
        'externalId eq "00U1"',
        'emails[type eq "work" and value eq "h@home.example"]',
        'emails ne "h@home.example"',
        "displayName pr",
        "active eq false",
        'meta.lastModified gt "2026-11-24T10:00:00Z"',
        'active eq false and id eq "7" or id eq "8"',
    ],
)
def test_a_filter_does_not_match(text: str) -> None:
    assert not matches(parse_filter(text, USER), HERON)


@with_each(
    "text",
    [
        "",
        "userName",
        "userName eq",
        'userName eq "open',
        'userName eq "a" userName eq "b"',
        'userName eq "a" and',
        '(userName eq "a"',
        'not userName eq "a"',
        'shoeSize eq "44"',
        'userName.first eq "a"',
        'urn:other:User:userName eq "a"',
        "userName eq 7",
        "active gt true",
        'active eq "perhaps"',
        'name eq "Grey Heron"',
        'name[formatted eq "x"]',
        'emails[emails[type eq "work"]]',
        'emails[shoe eq "x"]',
        'meta.created gt "yesterday"',
        'meta.created gt "2026-11-24T10:00:00"',
        'userName eq "a"; DROP TABLE sys.user',
        "(" * (MAX_DEPTH + 1) + 'id eq "7"' + ")" * (MAX_DEPTH + 1),
        'id eq "' + "7" * MAX_LENGTH + '"',
    ],
)
def test_a_filter_that_is_not_understood_is_refused_and_never_left_out(text: str) -> None:
    with pytest.raises(ScimFault) as refused:
        parse_filter(text, USER)
    assert refused.value.scim_type == "invalidFilter"


def test_the_members_of_a_group_are_found_by_their_id() -> None:
    group = {"displayName": "Staff", "members": [{"value": "7"}]}
    assert matches(parse_filter('members eq "7"', GROUP), group)
    assert matches(parse_filter('members[value eq "7"]', GROUP), group)
    assert not matches(parse_filter('members.value eq "8"', GROUP), group)
