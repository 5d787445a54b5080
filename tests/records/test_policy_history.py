"""What revisions added and removed is what sets of lines say, whatever came and went before."""

import random

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.published import policy_history, policy_lines, policy_revisions
from service.records.published.policy_history import Part, PublishedLine
from service.records.published.policy_revisions import NewRevision
from service.records.schema.policy import policy_line

POSSIBLE = [PublishedLine("resource", f"GET /api/{place}", code) for place in "abcd" for code in ("x", "y")]


async def publish(connection: AsyncConnection, target_lines: set[PublishedLine]) -> int:
    stored = (await connection.run_sync(policy_lines.stored)).objects
    changed: dict[policy_lines.ObjectKey, tuple[str, ...]] = {
        (layer, name): () for layer, objects in stored.items() for name in objects
    }
    for line in sorted(target_lines):
        changed[line.layer, line.object] = (*changed.get((line.layer, line.object), ()), line.code)
    revision = await policy_lines.publish(
        connection, changed, NewRevision(line_count=len(target_lines), digest="d", cause="test"), mend=True
    )
    await policy_history.record(connection, revision)
    return revision


async def test_any_two_revisions_differ_by_what_their_lines_differ(connection: AsyncConnection) -> None:
    choose = random.Random(5)
    published = {}
    for _ in range(8):
        chosen_lines = {line for line in POSSIBLE if choose.random() < 0.5}
        published[await publish(connection, chosen_lines)] = chosen_lines

    for before, old in published.items():
        for after, new in published.items():
            diff = await policy_history.difference(connection, before, after)
            assert (diff.added, diff.removed) == (sorted(new - old), sorted(old - new))
    for revision, chosen_lines in published.items():
        old = published.get(revision - 1, set())
        changes = await policy_history.changes_of(connection, revision)
        assert changes == (sorted(chosen_lines - old), sorted(old - chosen_lines), False)
        kept = await policy_revisions.read(connection, revision)
        assert kept is not None
        assert (kept.added, kept.removed) == (len(chosen_lines - old), len(old - chosen_lines))
        at = await policy_history.lines_at(connection, revision, ("portcullis", "GET", "/api/whatever"))
        assert at == sorted(chosen_lines)


async def test_long_lists_of_lines_are_read_in_parts(connection: AsyncConnection) -> None:
    first = await publish(connection, set(POSSIBLE[:1]))
    second = await publish(connection, set(POSSIBLE[1:]))

    parts = [
        await policy_history.difference(connection, first, second, Part(3, start)) for start in (0, 3, 6)
    ]
    same = [await policy_history.changes_of(connection, second, Part(3, start)) for start in (0, 3, 6)]

    assert [part.added for part in parts] == [POSSIBLE[1:4], POSSIBLE[4:7], POSSIBLE[7:]]
    assert [part.removed for part in parts] == [POSSIBLE[:1], [], []]
    assert [part.more for part in parts] == [True, True, False]
    assert same == parts


async def test_a_revision_costs_as_many_rows_as_it_adds(connection: AsyncConnection) -> None:
    await publish(connection, set(POSSIBLE))
    for _ in range(3):
        await publish(connection, set(POSSIBLE[1:]))
        await publish(connection, set(POSSIBLE))

    rows = (await connection.execute(select(func.count()).select_from(policy_line))).scalar_one()
    assert rows == len(POSSIBLE) + 3


async def test_only_lines_that_could_decide_are_read(connection: AsyncConnection) -> None:
    fitting = PublishedLine("resource", "GET /api/report/{id}", "report:detail")
    grant = PublishedLine("grant", "report:detail", "report:detail")
    others = {
        PublishedLine("resource", "GET /api/report", "report:list"),
        PublishedLine("resource", "PUT /api/report/{id}", "report:update"),
        PublishedLine("grant", "report:list", "report:list"),
    }
    revision = await publish(connection, {fitting, grant, *others})

    assert await policy_history.lines_at(connection, revision, ("portcullis", "GET", "/api/report/7")) == [
        fitting
    ]
    assert await policy_history.lines_at(connection, revision, "report:detail") == [grant]
    assert (
        await policy_history.lines_at(connection, revision - 1, ("portcullis", "GET", "/api/report/7")) == []
    )


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("SELECT 1", 0),
        ("DELETE FROM sys.casbin_rule WHERE v1 = 'GET /api/a' AND v2 = 'x'", 1),
        ("UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/a' AND v2 = 'x'", 2),
        ("UPDATE sys.casbin_rule SET v3 = 'z' WHERE v1 = 'GET /api/a' AND v2 = 'x'", 2),
        ("INSERT INTO sys.casbin_rule (ptype, v0, v1) VALUES ('g', 'admin', 'super')", 1),
    ],
)
async def test_lines_that_somebody_else_has_changed_are_counted(
    connection: AsyncConnection, statement: str, count: int
) -> None:
    revision = await publish(connection, set(POSSIBLE))

    await connection.execute(text(statement))

    assert await policy_history.tampered(connection, revision) == count


async def test_what_is_kept_of_revisions_that_were_deleted_is_forgotten(connection: AsyncConnection) -> None:
    first = await publish(connection, set(POSSIBLE[:2]))
    await publish(connection, set(POSSIBLE[1:3]))
    await connection.execute(text(f"DELETE FROM sys.policy_revision WHERE revision > {first}"))

    await policy_history.forget_from(connection, first + 1)
    second = await publish(connection, set(POSSIBLE[:1]))

    assert second == first + 1
    assert await policy_history.changes_of(connection, second) == ([], [POSSIBLE[1]], False)


async def test_the_changes_of_an_older_version_are_not_told_as_kept(connection: AsyncConnection) -> None:
    await publish(connection, set(POSSIBLE))
    first = await policy_history.begins(connection)
    assert first is not None
    older = await policy_revisions.add(
        connection, NewRevision(digest="d", line_count=1, cause="an older version")
    )

    assert await policy_history.is_kept(connection, first)
    assert not await policy_history.is_kept(connection, older)
    assert not await policy_history.is_kept(connection, older + 1)
