"""Sending tables, and what is said of their rows."""

from tests.support.inside import Inside
from tests.web.driver import Answer

NO_NOTE = {"note": None, "noteCode": None, "noteParams": None}
"""Of a row about which there is nothing to say."""
KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""The content types of tables, by their formats."""


async def send(
    service: Inside, target: str, table: str | bytes, token: str | None = None, kind: str = "text/csv"
) -> Answer:
    """Send a table, as CSV unless ``kind`` says otherwise."""
    body = table if isinstance(table, bytes) else table.encode()
    return await service.ask_raw("POST", target, body, ("Content-Type", kind), token=token)


def faults(answer: Answer) -> list[tuple[int, str, str]]:
    """Return row, field and message of each fault."""
    assert answer.code == "validation_failed"
    assert answer.json["errorCount"] == len(answer.json["errors"])
    return [(error["row"], error["field"], error["message"]) for error in answer.json["errors"]]
