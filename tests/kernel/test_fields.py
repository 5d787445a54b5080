"""Fields are declared once: what is forgotten fails at once; and what a refused row names as lacking."""

from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal

import pytest

from service.administration.change_log import check_values
from service.authz.engine.policy import Policy
from service.errors import PermissionDenied, RowFault, RowsRefused, ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.fields import (
    ITS_EDIT,
    ITS_TYPE,
    Field,
    audited_fields,
    declared,
    field_faults,
    fields_of,
    password_context,
)
from service.kernel.text import text_fault
from service.kernel.value_rules import RangeRule, TextRule, one_line
from service.records.user_list import UserValues
from tests.policies.stock import MODEL
from tests.support.cases import with_each


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class Berth:
    """A record with fields of all kinds."""

    berth_name: Annotated[str, Field(text_fault, in_passwords=True)]
    note: Annotated[str | None, Field(one_line(10))] = None
    side: Annotated[Literal["port", "starboard"] | None, Field(ITS_TYPE)] = None
    taken: Annotated[bool, Field(ITS_TYPE)] = False
    above: Annotated[int | None, Field(ITS_EDIT, audited=False)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBerth(Berth):
    """One with more fields, which nobody edits."""

    id: int


class Undeclared:
    remark: str


class WithTwo:
    remark: Annotated[str, Field(text_fault), Field(text_fault)]


class Unruled:
    remark: Annotated[str | None, Field(ITS_TYPE)]


class UnruledNumber:
    remark: Annotated[int, Field(ITS_TYPE)]


class UnruledPart:
    remark: Annotated[Literal["a"] | int, Field(ITS_TYPE)]


class LateWithoutValue:
    remark: Annotated[str, Field(text_fault, late=True)]


@with_each("kind", [Undeclared, WithTwo, Unruled, UnruledNumber, UnruledPart, LateWithoutValue])
def test_a_field_that_does_not_say_what_it_may_be_stops_every_start(kind: type) -> None:
    with pytest.raises(TypeError, match=rf"{kind.__name__}\.remark"):
        declared(dataclass(kind))


@pytest.mark.parametrize("kind", [str | None, Literal["a"] | None])
def test_a_field_that_may_be_null_or_has_a_default_may_be_late(kind: Any) -> None:
    nullable = make_dataclass("Nullable", [("remark", Annotated[kind, Field(text_fault, late=True)])])
    given = make_dataclass("Given", [("remark", Annotated[str, Field(text_fault, late=True)], "none")])

    assert [fields_of(declared(each))["remark"].late for each in (nullable, given)] == [True, True]


def test_every_fault_is_named_as_the_api_names_its_field() -> None:
    values = {"berth_name": " ", "note": "call me\n<b>", "side": "port", "taken": True, "above": 7}

    assert dict(field_faults(Berth, values)) == {
        "berthName": "must not begin or end with a space",
        "note": "must be one line of 1 to 10 characters without spaces at its ends",
    }


def test_what_is_not_given_or_has_no_value_breaks_no_rule() -> None:
    assert list(field_faults(Berth, {"note": None})) == []


def test_what_a_record_does_not_declare_is_never_taken_for_allowed() -> None:
    with pytest.raises(TypeError, match="Berth does not declare remark"):
        check_values(Berth, {"remark": "call me <b>"})
    with pytest.raises(TypeError, match="StoredBerth is not declared"):
        fields_of(StoredBerth)


def test_the_audit_tells_all_but_what_says_that_it_is_not_audited() -> None:
    stored = StoredBerth(id=3, berth_name="North", side="port", above=7)

    assert audited_fields(Berth, stored) == {
        "berthName": "North",
        "note": None,
        "side": "port",
        "taken": False,
    }


def test_the_context_of_a_password_has_the_values_that_say_so() -> None:
    assert password_context(Berth, Berth(berth_name="North", note="A note")) == ("North",)
    heron = UserValues(user_name="heron", nick_name="Grey", email="h@example.org", phone="+49 30 739")
    assert password_context(UserValues, heron) == ("heron", "Grey", "h@example.org", "+49 30 739")


@with_each(
    ("rule", "allowed", "refused"),
    [
        (one_line(3), ["abc", "a c"], ["abcd", "a\n", " a", ""]),
        (TextRule(3, Sentence("no")), ["", "a b"], ["abcd", "a\nb", "a\u202e"]),
        (TextRule(3, Sentence("no"), lines=True), ["", "a\nb"], ["abcd", "a\0b", "a\u202e"]),
        (TextRule(9, Sentence("no"), "[ab]+"), ["ab"], ["abc", "ab\n", ""]),
        (RangeRule(-1, 1), [-1, 0, 1], [-2, 2]),
    ],
)
def test_a_rule_is_about_the_whole_value(rule: Any, allowed: list[Any], refused: list[Any]) -> None:
    assert [rule(value) for value in allowed] == [None] * len(allowed)
    assert all(rule(value) for value in refused)


def test_all_faults_are_told_together() -> None:
    with pytest.raises(ValidationFailed) as raised:
        check_values(
            UserValues, {"user_name": "", "email": "nowhere", "phone": "ring me", "avatar": "ftp://x"}
        )

    assert [error["field"] for error in raised.value.extra["errors"]] == [
        *("userName", "email", "phone", "avatar")
    ]


@pytest.mark.parametrize(("number", "count"), [(RowsRefused.MOST, None), (RowsRefused.MOST + 1, 101)])
def test_how_many_permissions_are_lacking_is_told_when_not_all_are_named(
    number: int, count: int | None
) -> None:
    codes = [f"x:{suffix}" for suffix in range(number)]
    decision = Policy(MODEL.read_text("utf-8")).judge("grant", "x:0", HeldCodes([]))
    denial = PermissionDenied(
        Sentence("The role has permissions that you do not hold"), decision, required=codes
    )

    (error,) = RowsRefused([RowFault(1, "roles", denial.stated(), denial.code, denial)]).extra["errors"]

    assert error["required"] == codes[: RowsRefused.MOST]
    assert error.get("requiredCount") == count
