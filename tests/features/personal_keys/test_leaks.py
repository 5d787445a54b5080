"""Leaked keys: what scanners find, and what becomes of a reported key."""

import re
from pathlib import Path
from typing import Any

from service.features.service_accounts.form import ApiKey, new_secret
from tests.docs.blocks import blocks
from tests.features.personal_keys.conftest import LIST, key_of
from tests.features.service_accounts.conftest import Workers
from tests.support.members import member, query
from tests.support.running import ROOT

PAGE = Path(ROOT) / "docs/reference/personal-keys.md"
LEAKED = "/api/key/leaked"


def test_the_expression_and_the_code_of_the_page_find_keys_and_nothing_else() -> None:
    by_kind = {block.kind: block.text for block in blocks(PAGE) if "test_leaks" in block.mark}
    expression = re.compile(by_kind["text"].strip())
    scope: dict[str, Any] = {}
    exec(by_kind["python"], scope)
    for key_id in (1, 42, 2**63 - 1):
        key = str(ApiKey(key_id, new_secret()))
        (match,) = expression.findall(f"KEY={key};")
        assert match == key
        assert scope["is_key"](key)
        wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
        assert not scope["is_key"](wrong)


async def test_a_reported_key_is_revoked_everywhere_and_its_owner_notified(workers: Workers) -> None:
    owner = await member(workers.first, "quin", LIST)
    made = await key_of(owner, LIST)
    assert await workers.statuses(made["key"]) == [200, 200]
    assert (await workers.second.as_anonymous("POST", LEAKED, body={"key": made["key"]})).status == 204
    assert await workers.statuses(made["key"]) == [401, 401]
    await owner.log_in()
    notices = (await owner.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    (leaked,) = [notice for notice in notices if notice["kind"] == "key_leaked"]
    shown = (leaked["facts"]["name"], leaked["clientIp"], leaked["browser"])
    assert shown == ("script", None, None), "the address is that of the reporter"


async def test_the_creator_of_a_service_accounts_key_is_notified(workers: Workers) -> None:
    robot = await workers.account(LIST)
    key = await workers.key(robot)
    assert (await workers.first.as_anonymous("POST", LEAKED, body={"key": key})).status == 204
    assert await workers.statuses(key) == [401, 401]
    kinds = await query(workers.first, "SELECT kind FROM sys.notice WHERE user_id = 1")
    assert ("key_leaked",) in kinds


async def test_a_report_says_nothing_about_keys_and_a_wrong_secret_revokes_none(workers: Workers) -> None:
    owner = await member(workers.first, "rae", LIST)
    made = await key_of(owner, LIST)
    invented = str(ApiKey(made["id"], new_secret()))
    unknown = str(ApiKey(2**40, new_secret()))
    for text in (invented, unknown):
        answer = await workers.first.as_anonymous("POST", LEAKED, body={"key": text})
        assert (answer.status, answer.body) == (204, b"")
    assert await workers.statuses(made["key"]) == [200, 200]
    malformed = await workers.first.as_anonymous("POST", LEAKED, body={"key": made["key"][:-1]})
    assert (malformed.status, malformed.fields) == (422, ["key"])


async def test_no_log_has_a_reported_key(workers: Workers) -> None:
    key = str(ApiKey(2**41, new_secret()))
    await workers.first.as_anonymous("POST", LEAKED, body={"key": key})
    rows = await query(workers.first, "SELECT row_to_json(log)::text FROM sys.operation_log log")
    assert [row for (row,) in rows if key.split("_")[2] in row] == []
