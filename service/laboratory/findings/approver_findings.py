"""Lint findings about approvers: several accounts of one person, or too few persons."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from service.administration.people import People, reason_of
from service.authz.engine.rules import REQUEST
from service.kernel.request_objects import ask, role_of
from service.kernel.text import counted
from service.laboratory.analysis.impact import Standing
from service.laboratory.findings import passing
from service.laboratory.findings.findings import Finding
from service.laboratory.findings.request_findings import ONE_PERSON, Approvers
from service.records import role_holdings
from service.records.assignments import Present
from service.records.database.transactions import Connection

_MOST: Final = 100  # approvers of a role at whom is looked


async def approver_findings(
    connection: Connection, persons: Standing, people: People, at: datetime
) -> list[Finding]:
    """Return requestable roles whose approvers are one person, or fewer persons than the rule has stages.

    The users of ``persons`` are the persons who may log in. Each pair of accounts is judged alone: an author
    who stands behind others is not known yet.
    """
    findings: list[Finding] = []
    for role, approvers in _approving(persons):
        page = await role_holdings.holders(
            connection,
            approvers.role_sets,
            list(persons.users),
            page=1,
            size=_MOST,
            kind="person",
            at=Present(at),
        )
        ids = [each.id for each in page.items]
        related = await people.of(connection, (), at, beside=ids)
        alike = related.pairs(ids)
        needed = max(2, sum(approvers.takes.values()))
        different = len(passing.places(dict.fromkeys(ids, (1,)), [needed], alike))
        if not alike or different >= min(needed, page.total) or page.total > _MOST:
            continue
        same = related.same(*sorted(min(alike, key=sorted)))
        why = "" if same is None else f": {await reason_of(connection, same)}"
        as_many = "one person" if different == 1 else counted(different, "person")
        findings.append(Finding(ONE_PERSON, ask(role), f"its {len(ids)} approvers count as {as_many}{why}"))
    return findings


def _approving(persons: Standing) -> Iterator[tuple[str, Approvers]]:
    """Yield the roles that may be asked for, each with who approves."""
    for role in sorted({role_of(name) for name in persons.policy.rules.objects(REQUEST)}):
        approvers = Approvers.of(persons, role)
        if approvers.role_sets:
            yield role, approvers
