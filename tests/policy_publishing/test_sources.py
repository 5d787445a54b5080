"""The policies of the database, as commands and requests review them."""

import pytest

from service.audit.seals import RevisionSeals
from service.authz.engine.rules import ASSURANCE, RESOURCE, PolicyError
from service.laboratory.analysis.sources import PastPolicies, read_policy, source_named, standing_of
from service.records.database.transactions import Database
from tests.support.inside import Inside
from tests.support.unstarted import SHIPPED

PAST = PastPolicies(SHIPPED, RevisionSeals())

REPORT = {"resourceName": "Read", "resourceCode": "report", "method": "GET", "path": "/api/report/{id}"}


async def test_a_revision_and_the_live_policy_are_read_whole_with_the_current_roles(service: Inside) -> None:
    await service.data("POST", "/api/resource", REPORT)
    async with Database(service.database_url) as database:
        first, second, live = [
            await read_policy(source_named(name), PAST, database) for name in ("1", "r2", "live")
        ]
        assert (first.revision, second.revision, live.revision) == (1, 2, 2)
        assert set(second.rules) == set(live.rules)
        new = set(second.rules) - set(first.rules)
        assert {rule.layer for rule in new} == {RESOURCE, ASSURANCE}
        assert {rule for rule in new if rule.layer == RESOURCE} == {
            *second.rules.of(RESOURCE, "GET /api/report/{id}")
        }
        async with database.snapshot() as connection:
            standing = await standing_of(first, connection)
        assert standing.codes["super"] == ("*",)
        assert standing.users[("super",)] == 1
        with pytest.raises(PolicyError, match=r"There is no revision 3, or .*; the newest is 2"):
            await read_policy(source_named("3"), PAST, database)


async def test_files_are_read_without_a_database_and_a_revision_is_not() -> None:
    shipped = await read_policy(source_named("shipped"), PAST, None)
    assert len(shipped.rules) == len(SHIPPED.rules)
    assert (await standing_of(shipped, None)).codes == {}
    with pytest.raises(PolicyError, match="live: this policy is in the database"):
        await read_policy(source_named("live"), PAST, None)
