"""Previews are told from what was done, in lists, files and details; refused reads by their number."""

import json
from typing import Any

import pytest

from tests.log_reading.entries import operations
from tests.support.cases import with_each
from tests.support.inside import Inside

ENTRIES: list[dict[str, Any]] = [
    {"kind": "DELETE"},
    {"kind": "DELETE", "query": "dryRun=true", "dry_run": True},
    {"kind": "DELETE", "query": "dryRun=\u2026", "dry_run": True, "status": 403, "decision": "deny"},
    # Of versions without the column:
    {"kind": "IMPORT", "query": "size=1&dryRun=true"},
    {"kind": "EXPORT", "query": "userName=dryRun=true"},
    {"kind": "UPDATE", "query": "dryRun=false"},
    {"kind": "REFUSED_READ", "status": 403, "decision": "deny", "repetitions": 12},
]


@pytest.fixture(scope="module")
def ids() -> list[int]:
    """The ids of the entries, once they are written."""
    return []


@pytest.fixture
async def filled(shared: Inside, ids: list[int]) -> Inside:
    if not ids:
        ids += await operations(shared.database_url, *({"module": "told"} | fields for fields in ENTRIES))
    return shared


@with_each(
    ("asked", "expected"),
    [
        ("", [6, 5, 4, 3, 2, 1, 0]),
        ("&dryRun=true", [3, 2, 1]),
        ("&dryRun=false", [6, 5, 4, 0]),
        ("&dryRun=true&decision=deny", [2]),
        ("&dryRun=false&kind=DELETE", [0]),
        ("&kind=REFUSED_READ", [6]),
    ],
)
async def test_a_list_has_all_and_its_filter_only_previews_or_all_but_these(
    filled: Inside, ids: list[int], asked: str, expected: list[int]
) -> None:
    listed = await filled.data("GET", f"/api/operation-log/list?module=told{asked}")
    exported = await filled.ask("GET", f"/api/operation-log/export?module=told&format=jsonl{asked}")

    assert [ids.index(entry["id"]) for entry in listed["items"]] == expected
    assert [ids.index(json.loads(line)["id"]) for line in exported.body.splitlines()] == expected
    assert listed["total"] == len(expected)


async def test_each_way_of_reading_says_what_was_a_preview_and_how_often_a_read_was_refused(
    filled: Inside, ids: list[int]
) -> None:
    listed = (await filled.data("GET", "/api/operation-log/list?module=told&sort=createTime"))["items"]
    asked = "/api/operation-log/export?module=told&sort=createTime&format="
    lines = map(json.loads, (await filled.ask("GET", f"{asked}jsonl")).body.splitlines())
    details = [await filled.data("GET", f"/api/operation-log/{entry_id}") for entry_id in ids]
    cells = (await filled.ask("GET", f"{asked}csv")).body.decode().splitlines()

    expected = [(number in (1, 2, 3), ENTRIES[number].get("repetitions")) for number in range(len(ENTRIES))]
    for entries in (listed, lines, details):
        assert [(entry["dryRun"], entry["repetitions"]) for entry in entries] == expected
    assert cells[0].endswith('"traceId","dryRun","repetitions","changes"')
    assert [line.rsplit(",", 3)[1:] for line in cells[1:]] == [
        [f'"{str(preview).lower()}"', f'"{number or ""}"', '""'] for preview, number in expected
    ]
