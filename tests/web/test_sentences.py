"""The faults of a body are told in sentences of our own, all together, whatever the operation."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.kernel.sentences import expected
from service.kernel.type_faults import MOST, fields_of_struct
from service.kernel.value_rules import DESCRIPTION, SORT, bounds_of
from service.web.messages.faults import faults_of
from tests.support.cases import with_each
from tests.support.inside import Inside


@with_each(
    ("kind", "sentence"),
    [
        (str, "must be a text"),
        (Annotated[str, Meta(max_length=1)], "must be a text of at most 1 character"),
        (
            Annotated[str, Meta(min_length=1, max_length=64)] | None,
            "must be a text of 1 to 64 characters or null",
        ),
        (Annotated[str, Meta(pattern="^a+$", examples=["aa"])], "must be a text such as aa"),
        (Annotated[str, Meta(pattern="^a+$")], "must be a text of the required form"),
        (Annotated[str | None, bounds_of(DESCRIPTION)], "must have at most 1000 characters"),
        (bool, "must be true or false"),
        (int, "must be a whole number"),
        (Annotated[int, Meta(ge=1)], "must be a whole number of at least 1"),
        (Annotated[int, bounds_of(SORT)], "must be a whole number from -2147483648 to 2147483647"),
        (Annotated[float, Meta(gt=0)], "must be a number greater than 0"),
        (Annotated[list[int], Meta(min_length=1, max_length=3)], "must be a list of 1 to 3 items"),
        (list[int] | bool, "must be a list or true or false"),
        (dict[str, int], "must be an object"),
        (Literal["red", "green"] | None, "must be one of: red, green or null"),
        (Annotated[datetime, Meta(tz=True)], "must be a time such as 2026-11-21T02:33:53Z"),
    ],
)
def test_a_sentence_says_what_a_value_must_be(kind: Any, sentence: str) -> None:
    assert expected(kind) == sentence


def test_of_a_value_that_is_no_text_not_the_rule_of_texts_is_told() -> None:
    assert expected(Annotated[str, bounds_of(DESCRIPTION)], 5) == "must be a text of at most 1000 characters"


BODIES = sorted(
    {
        operation.signature.body
        for operation in check_routes(read_shipped()).operations
        if isinstance(operation.signature.body, type) and issubclass(operation.signature.body, Struct)
    },
    key=str,
)
WRONG: tuple[Any, ...] = (
    7,
    "x" * 50_000,
    "\u202e",
    True,
    [],
    [7, "y", None, {}],
    {},
    {"a": 1},
    1.5,
    2**70,
    -1,
)
LIBRARY = re.compile(r"`|\b(Expected|Object|Invalid|array|str|int|bool|regex|len)\b")


@with_each("kind", BODIES)
def test_no_fault_of_a_body_is_told_in_words_of_the_library(kind: type[Struct]) -> None:
    fields = fields_of_struct(kind)
    for wrong in WRONG:
        value = {**dict.fromkeys(fields, wrong), "more": 1}
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            faults = faults_of(value, kind)
        else:
            continue
        assert faults
        assert [fault for fault in faults if LIBRARY.search(fault[1])] == []
        assert [
            fault
            for fault in faults
            if not re.match(r"must |The field is|There is no|is not one|does not", fault[1])
        ] == []


async def test_all_faults_of_a_body_are_told_together(shared: Inside) -> None:
    body = {
        "userName": "her\u202eon",
        "nickName": "n" * 65,
        "email": "no address",
        "phone": 7,
        "kind": "robot",
        "roleIds": [0, "x"],
        "invite": "yes",
        "more": 1,
    }
    answer = await shared.ask("POST", "/api/user", body)
    assert answer.status == 422
    assert {fault["field"]: fault["message"] for fault in answer.json["errors"]} == {
        "userName": "must not hold U+202E, which can't be seen",
        "nickName": "must have 1 to 64 characters",
        "email": "must be an email address of at most 254 characters",
        "phone": "must be a text of at most 32 characters or null",
        "kind": "must be one of: person, service",
        "roleIds[0]": "must be a whole number from 1 to 9223372036854775807",
        "roleIds[1]": "must be a whole number from 1 to 9223372036854775807",
        "invite": "must be true or false",
        "more": "There is no such field",
    }


async def test_all_faults_of_a_query_are_told_together(shared: Inside) -> None:
    answer = await shared.ask("GET", "/api/user/list?page=0&status=on&banned=null&createTimeFrom=1&roleId=x")
    assert {fault["field"]: fault["message"] for fault in answer.json["errors"]} == {
        "page": "must be a whole number from 1 to 1000000000",
        "status": "must be one or more of enabled, disabled, separated by commas",
        "banned": "Leave the parameter out instead of sending null",
        "createTimeFrom": "must be a time such as 2026-11-21T02:33:53Z",
        "roleId": "must be a whole number from 1 to 9223372036854775807",
    }


async def test_the_number_of_faults_has_a_bound(shared: Inside) -> None:
    answer = await shared.ask("POST", "/api/role", {f"field{number}": 1 for number in range(3 * MOST)})
    assert len(answer.json["errors"]) == MOST
