"""Answers, bodies and tables have the fields that a record declares."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, get_type_hints

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct

from service.kernel.coded_sentences import Sentence
from service.kernel.fields import ITS_TYPE, Field, declared
from service.kernel.value_rules import ChoiceRule, RangeRule, TextRule
from service.web.messages.record_schemas import answer_of, body_of, replacement_of, shows
from service.web.messages.schema import Moment, Schema


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class Berth:
    """A record with fields of all kinds."""

    berth_name: Annotated[str, Field(TextRule(9, Sentence("no"), "[a-z]+")), Meta(examples=["north"])]
    side: Annotated[str, Field(ChoiceRule(("port", "starboard")), fixed=True)] = "port"
    depth: Annotated[int | None, Field(RangeRule(1, 20))] = None
    note: Annotated[
        str | None, Field(TextRule(5, Sentence("no"), "[a-z]+", published=False), in_tables=False)
    ] = None
    taken: Annotated[bool, Field(ITS_TYPE)] = False
    lit: Annotated[bool, Field(ITS_TYPE, late=True)] = True
    owner: Annotated[str | None, Field(TextRule(9, Sentence("no")), late=True)] = None
    secret: Annotated[str, Field(TextRule(9, Sentence("no")), in_api=False, in_tables=False)] = ""


@answer_of(Berth)
class BerthAnswer(Schema):
    """A berth."""

    id: int
    version: int


@body_of(Berth, before="crew")
class BerthBody(Schema):
    """A new berth."""

    crew: list[str] = msgspec.field(default_factory=list)


@replacement_of(BerthBody)
class BerthReplacement(Schema):
    """All values of a berth."""


@body_of(Berth, "in_tables", left_out="unset")
class BerthRow(Schema):
    """A row; the name identifies it."""

    berth_name: str


def names(kind: type[Schema]) -> list[str]:
    return list(kind.__struct_fields__)


def test_a_schema_has_what_is_declared_for_it_in_the_order_of_the_record() -> None:
    assert names(BerthAnswer) == [
        "id",
        "berth_name",
        "side",
        "depth",
        "note",
        "taken",
        "lit",
        "owner",
        "version",
    ]
    assert names(BerthBody) == ["berth_name", "depth", "note", "taken", "lit", "owner", "crew"]
    assert names(BerthRow) == ["berth_name", "depth", "taken", "lit", "owner"]


def test_what_a_body_leaves_out_is_null_where_it_may_be_and_else_not_given() -> None:
    body = msgspec.convert({"berthName": "north"}, BerthBody)

    assert body.given() == {"berth_name": "north", "depth": None, "note": None, "owner": None, "crew": []}
    assert msgspec.convert({"berthName": "north"}, BerthRow).given() == {"berth_name": "north"}
    assert {field.default for field in msgspec.structs.fields(BerthRow)[1:]} == {UNSET}


def test_only_late_members_may_be_left_out_of_a_put_which_then_keeps_them() -> None:
    sent = {"berthName": "north", "depth": 3, "note": None, "taken": True, "crew": []}

    assert msgspec.convert(sent, BerthReplacement).given().keys().isdisjoint({"lit", "owner"})
    assert msgspec.convert(sent | {"owner": None, "lit": False}, BerthReplacement).given()["owner"] is None
    for name in sent:
        with pytest.raises(msgspec.ValidationError, match=name):
            msgspec.convert({key: sent[key] for key in sent if key != name}, BerthReplacement)


@pytest.mark.parametrize(
    "values",
    [{"berthName": "No1"}, {"berthName": "north", "depth": 21}, {"berthName": "north", "note": "abcdef"}],
)
def test_a_body_has_the_bounds_of_the_rules(values: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, BerthBody)


def test_an_unpublished_pattern_is_left_to_the_edit() -> None:
    assert msgspec.convert({"berthName": "north", "note": "A-1"}, BerthBody).given()["note"] == "A-1"


def test_documents_tell_of_a_field_what_its_record_does_and_of_answers_only_the_types() -> None:
    (_, components) = msgspec.json.schema_components([BerthAnswer, BerthBody])

    body, answer = (components[name]["properties"] for name in ("BerthBody", "BerthAnswer"))
    assert body["berthName"]["examples"] == ["north"]
    assert body["depth"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 20}
    assert answer["berthName"] == {"type": "string"}
    assert answer["side"] == {"enum": ["port", "starboard"]}


def test_an_answer_is_made_of_the_record_by_names() -> None:
    class Stored:
        id, version, berth_name, side, depth, note, taken = 1, 2, "north", "port", None, None, True
        lit, owner = True, None

    assert msgspec.json.encode(BerthAnswer.of(Stored())).startswith(
        b'{"id":1,"berthName":"north","side":"port"'
    )


class Mooring(Struct, frozen=True, kw_only=True):
    """A stored record."""

    berth: Annotated[str, Meta(examples=["north"])]
    lines: tuple[int, ...]
    since: datetime | None
    token_hash: str
    seal: bytes | None


@shows(Mooring, leave_out=("token_hash", "seal"), before="crew", since="from")
class MooringAnswer(Schema):
    """A mooring."""

    id: int
    crew: list[str]


def test_an_answer_shows_what_a_stored_record_has() -> None:
    at = datetime(2026, 11, 21, 2, 33, 53, 123456, tzinfo=UTC)
    stored = Mooring(berth="north", lines=(1, 2), since=at, token_hash="x", seal=b"x")

    shown = MooringAnswer.of(stored, id=7, crew=("mira",))

    assert msgspec.json.decode(msgspec.json.encode(shown, enc_hook=str)) == {
        "id": 7,
        "berth": "north",
        "lines": [1, 2],
        "from": "2026-11-21T02:33:53.123Z",
        "crew": ["mira"],
    }
    schema = msgspec.json.schema(MooringAnswer, schema_hook=lambda _kind: {"type": "string"})
    assert schema["$defs"]["MooringAnswer"]["properties"]["berth"] == {
        "type": "string",
        "examples": ["north"],
    }
    assert get_type_hints(MooringAnswer)["since"] == Moment | None


@pytest.mark.parametrize("left_out", [(), ("token_hash",), ("seal",)])
def test_a_field_that_may_hold_a_secret_is_never_shown_unless_an_answer_says_so(
    left_out: tuple[str, ...],
) -> None:
    with pytest.raises(TypeError, match="would show"):
        shows(Mooring, leave_out=left_out)(MooringAnswer)


@pytest.mark.parametrize("names", [{"leave_out": ("captain",)}, {"captain": "skipper"}])
def test_an_answer_can_not_leave_out_or_rename_what_is_not_there(names: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="has no captain"):
        shows(Mooring, **names)
