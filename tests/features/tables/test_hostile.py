"""What nobody should send in a table: taken literally or refused, and never a fault of the service."""

import csv
import io
import json

from tests.features.tables.tables import send
from tests.support.cases import with_each
from tests.support.inside import Inside

PAYLOADS = [
    "' OR 1=1 --",
    "%' ESCAPE '!",
    "\0",
    "\ufeff",
    "\u202ereversed",
    "\uff41\uff44\uff4d\uff49\uff4e",  # admin in full-width letters
    "\u0430dmin",  # a Cyrillic first letter
    "\ud800",
    "x" * 5000,
    "{{7*7}}",
    "../../etc/passwd",
    "\r\nSet-Cookie: a=b",
    "\U0001f9a6" * 64,
    "9" * 400,
    "NaN",
    "true",
    "[]",
]
USER = ("userName", "nickName", "email", "phone", "gender", "avatar", "status", "roles", "password")
ROLE = ("roleCode", "roleName", "description", "enabled", "permissions")
LISTS = ("roles", "permissions")


def as_csv(row: dict[str, str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([row.keys(), row.values()])
    return text.getvalue().encode("utf-8", "surrogatepass")


def as_json(name: str, row: dict[str, str]) -> bytes:
    listed = {column: value.split() if column in LISTS else value for column, value in row.items()}
    return json.dumps({name: [listed]}).encode()


@with_each("payload", PAYLOADS)
async def test_a_payload_in_any_cell_is_text_or_a_fault_of_its_row(shared: Inside, payload: str) -> None:
    whole = {"user": dict.fromkeys(USER, ""), "role": dict.fromkeys(ROLE, "")}
    whole["user"] |= {
        "userName": "heron",
        "nickName": "Heron",
        "status": "enabled",
        "password": "wary herons",
    }
    whole["role"] |= {"roleCode": "clerk", "roleName": "Clerk", "enabled": "true"}
    for family, row in whole.items():
        for column in row:
            hostile = row | {column: payload}
            target = f"/api/{family}/import?dryRun=true"
            for answer in (
                await send(shared, target, as_csv(hostile)),
                await send(shared, target, as_json(f"{family}s", hostile), kind="application/json"),
            ):
                assert answer.status in (200, 400, 422), (column, answer.body)
                assert column != "password" or payload not in answer.body.decode() or len(payload) < 9
