"""The form of API keys, where their text must not turn up, and what tells which key acted."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.audit.redaction import REDACTED, kept, redacted_query, redacted_text
from service.authn.key_callers import is_api_key
from service.errors import ValidationFailed
from service.features.service_accounts.form import ApiKey, _checksum, new_secret, parsed
from service.kernel.coded_sentences import Sentence
from service.web.requests.problems import document
from tests.features.service_accounts.conftest import Workers
from tests.support.cases import with_each
from tests.support.members import query

KEY = ApiKey(12, "0123456789ABCDEFGHIJKLMNOPQRSTUV")


def test_the_form_and_the_checksum_are_those_documented() -> None:
    # The checksum was computed by a program of its own: CRC-32 of "pck_12_0123…STUV" in base 62.
    assert str(KEY) == "pck_12_0123456789ABCDEFGHIJKLMNOPQRSTUV_0mLP7D"


@given(st.integers(1, 2**63 - 1))
def test_a_key_is_read_as_it_was_made(key_id: int) -> None:
    key = ApiKey(key_id, new_secret())
    assert parsed(str(key)) == key


@given(st.text() | st.from_regex(r"pck_[0-9]{0,21}_[0-9A-Za-z]{30,34}_[0-9A-Za-z]{5,7}", fullmatch=True))
def test_any_other_text_is_no_key(text: str) -> None:
    key = parsed(text)
    assert key is None or str(key) == text


@given(st.integers(0, len(str(KEY)) - 1), st.characters())
def test_a_key_with_one_other_character_is_no_key(place: int, other: str) -> None:
    changed = str(KEY)[:place] + other + str(KEY)[place + 1 :]
    assert (parsed(changed) is None) == (changed != str(KEY))


@with_each("text", ["", "pck_", "PCK_12", " pck_", "eyJhbGciOiJIUzI1NiJ9.e30.x"])
def test_what_is_no_key_is_not_taken_for_one(text: str) -> None:
    assert parsed(text) is None
    assert is_api_key(text) == text.startswith("pck_")


@with_each("key_id", ["0", "01", "-1", "9223372036854775808", "99999999999999999999"])
def test_an_id_that_no_row_has_is_refused(key_id: str) -> None:
    body = f"pck_{key_id}_{KEY.secret}"
    assert parsed(f"{body}_{_checksum(body)}") is None


def test_a_key_does_not_show_its_secret_by_accident() -> None:
    assert KEY.secret not in repr(KEY)
    assert new_secret() != new_secret()


SECRET_KEY = str(ApiKey(12, new_secret()))
SECRET = SECRET_KEY.split("_")[2]


@pytest.mark.parametrize("redact", [True, False])
def test_a_key_in_any_text_of_an_entry_is_withheld(redact: bool) -> None:
    entry = f'{{"nickName":"{SECRET_KEY}","list":["x {SECRET_KEY} y"],"{SECRET_KEY}":1}}'.encode()
    assert SECRET.encode() not in bytes(kept(entry, redact=redact))
    assert REDACTED.encode() in bytes(kept(entry, redact=redact))


def test_a_key_in_a_query_a_user_agent_or_a_problem_is_withheld() -> None:
    assert redacted_query(f"userName={SECRET_KEY}&a=b") == f"userName={REDACTED}&a=b"
    assert redacted_text(f"curl {SECRET_KEY}") == f"curl {REDACTED}"
    assert redacted_text(SECRET_KEY[:20]) == REDACTED
    assert SECRET.encode() not in document(ValidationFailed((SECRET_KEY, Sentence("Unknown field"))), "1")


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
