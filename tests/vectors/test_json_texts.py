"""JSONTestSuite's texts as bodies: what is no JSON is 400, what is JSON is read, and nothing is a fault."""

from __future__ import annotations

import pytest

from tests.support.inside import Inside
from tests.vectors.vectors import json_texts
from tests.web.driver import JSON

pytestmark = pytest.mark.anyio

# RFC 8259 §4 leaves open what a member given twice means; RFC 7493 §2.3 forbids it, and so do we.
DUPLICATES = {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}
forms = pytest.mark.parametrize("form", [b"%s", b'{"roleName": "A role", "roleCode": %s}'])


async def refusals(service: Inside, kind: str, form: bytes) -> dict[str, str | None]:
    """Send each text of a kind, put into ``form``, as a new role; return the code of each refusal by name."""
    codes = {}
    for name, text in json_texts(kind).items():
        answer = await service.ask_raw("POST", "/api/role", form.replace(b"%s", text), JSON)
        codes[name] = None if answer.status == 201 else answer.code
    return codes


@forms
async def test_what_is_no_json_is_a_bad_request(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "n", form)
    assert len(codes) == 188
    assert {name: code for name, code in codes.items() if code != "bad_request"} == {}


@forms
async def test_json_is_read_and_judged_by_its_type(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "y", form)
    assert len(codes) == 95
    assert {name for name, code in codes.items() if code == "bad_request"} == DUPLICATES
    assert set(codes.values()) <= {"bad_request", "validation_failed", None}


@forms
async def test_what_a_parser_may_treat_either_way_is_refused_in_words(shared: Inside, form: bytes) -> None:
    codes = await refusals(shared, "i", form)
    assert len(codes) == 35
    assert set(codes.values()) <= {"bad_request", "validation_failed"}
