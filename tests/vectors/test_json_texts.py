"""JSONTestSuite's texts as bodies: what is JSON is read, and nothing is a fault."""

from __future__ import annotations

import pytest

from tests.support.inside import Inside
from tests.vectors.vectors import json_texts
from tests.web.driver import JSON, ask

pytestmark = pytest.mark.anyio

# RFC 8259 §4 leaves open what a member given twice means; RFC 7493 §2.3 forbids it, and so do we.
DUPLICATES = {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}
ALONE, AS_A_MEMBER = b"%s", b'{"userName": "ann", "password": %s}'


async def statuses(service: Inside, kind: str, form: bytes) -> dict[str, int]:
    """Send each text of a kind as the body of a login, put into ``form``; return the status by its name."""
    found = {}
    for name, text in json_texts(kind).items():
        answer = await ask(service._app, "POST", "/api/auth/login", JSON, body=form.replace(b"%s", text))
        found[name] = answer.status
        assert answer.code == {400: "bad_request", 422: "validation_failed", 401: "login_failed"}.get(
            answer.status
        ), name
    return found


@pytest.mark.parametrize("form", [ALONE, AS_A_MEMBER])
async def test_json_is_read_and_judged_by_its_type(shared: Inside, form: bytes) -> None:
    found = await statuses(shared, "y", form)
    assert len(found) == 95
    refused = {name for name, status in found.items() if status == 400}
    assert refused <= DUPLICATES


@pytest.mark.parametrize("form", [ALONE, AS_A_MEMBER])
async def test_what_a_parser_may_treat_either_way_is_refused_in_words(shared: Inside, form: bytes) -> None:
    found = await statuses(shared, "i", form)
    assert len(found) == 35
    assert set(found.values()) <= {400, 422}
