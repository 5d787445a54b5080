"""Where the text of an API key must not turn up, and what tells which key acted."""

from __future__ import annotations

import asyncio

import pytest

from service.audit.redaction import REDACTED, kept, redacted_query, redacted_text
from service.authn.api_key_form import ApiKey, new_secret
from service.errors import ValidationFailed
from service.web.requests.problems import document
from tests.api_keys.conftest import Workers
from tests.support.members import query

KEY = str(ApiKey(12, new_secret()))
SECRET = KEY.split("_")[2]


@pytest.mark.parametrize("redact", [True, False])
def test_a_key_in_any_text_of_an_entry_is_withheld(redact: bool) -> None:
    entry = f'{{"nickName":"{KEY}","list":["x {KEY} y"],"{KEY}":1}}'.encode()
    assert SECRET.encode() not in bytes(kept(entry, redact=redact))
    assert REDACTED.encode() in bytes(kept(entry, redact=redact))


def test_a_key_in_a_query_a_user_agent_or_a_problem_is_withheld() -> None:
    assert redacted_query(f"userName={KEY}&a=b") == f"userName={REDACTED}&a=b"
    assert redacted_text(f"curl {KEY}") == f"curl {REDACTED}"
    assert redacted_text(KEY[:20]) == REDACTED
    assert SECRET.encode() not in document(ValidationFailed((KEY, "Unknown field")), "1")


@pytest.mark.anyio
async def test_neither_answers_nor_logs_have_a_key_and_entries_name_it(
    workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    account = await workers.account("*")
    made = await workers.first.data("POST", f"/api/user/{account.id}/keys", {"name": "job"})
    key = made["key"]
    secret = key.split("_")[2]
    for method, target, body, headers in (
        ("GET", f"/api/user/list?{key}=1", None, []),
        ("GET", f"/api/user/list?userName={key}", None, [("X-Request-Id", key)]),
        ("GET", f"/api/user/{key}", None, [("X-Request-Id", f"a.{key}")]),
        ("POST", "/api/role", {"roleCode": "by-key", "roleName": key, key: 1}, []),
        ("POST", "/api/role", {"roleCode": "by-key", "roleName": key}, [("User-Agent", key)]),
    ):
        answer = await workers.first.ask(method, target, body, *headers, token=key)
        assert secret not in str(answer.headers)
        if answer.status >= 400:
            assert secret.encode() not in answer.body
    statement = (
        "SELECT device, row_to_json(o)::text FROM sys.operation_log o"
        " WHERE user_id = %s OR url LIKE %s ORDER BY create_time"
    )
    entries: list[tuple[str, str]] = []
    while len(entries) < 3:
        await asyncio.sleep(0.05)
        entries = await query(workers.first, statement, account.id, f"/api/user/{account.id}/keys")

    assert {device for device, _ in entries} == {"web", f"key:{made['id']}"}
    assert all(secret not in entry for _, entry in entries)
    printed = capsys.readouterr()
    assert secret not in printed.out + printed.err
    assert f"key_id={made['id']}" in printed.err
