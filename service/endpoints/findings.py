"""What is wrong with the installation, or may soon be: ``/api/system/findings``."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from service.diagnosis.checks import CHECKS
from service.diagnosis.findings import Finding, State, worst_of
from service.diagnosis.latest import LatestFindings
from service.errors import Unavailable
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs, refuses
from service.web.messages.schema import Id, Moment, Schema, moment

LOCAL: Final = frozenset(check.name for check in CHECKS if check.local)
"""The checks whose words name paths, addresses or servers of a node."""
ON_THE_NODE: Final = "Run portcullis doctor on the node for the details"


class UserOfFinding(Schema):
    """An account that a finding is about."""

    id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]


class CheckFinding(Schema):
    """What one check has found.

    `ok`; `warning`: it works, and may do harm; `fault`: it does not work, or is a security hole; `unknown`:
    it could not be checked. `remedy` says what to do, and `users` are the accounts that `message` names.
    """

    check: Annotated[str, Meta(examples=["clocks"])]
    state: State
    message: Annotated[str, Meta(examples=["session store +0.0 s, database +0.0 s against this machine"])]
    remedy: str | None
    users: list[UserOfFinding]


class SystemFindings(Schema):
    """The findings of all checks, made at `checkedTime`; `status` is the worst state of them."""

    status: State
    checked_time: Moment
    items: list[CheckFinding]


class SystemFindingList:
    """``/api/system/findings``."""

    def __init__(self, findings: LatestFindings) -> None:
        self._findings = findings

    @needs("system:doctor:read")
    @refuses(Unavailable)
    @named("listFindings")
    async def on_get(self, context: RequestContext) -> SystemFindings:
        """List what is wrong with the installation, or may soon be, as `portcullis doctor` does.

        The checks are made by the node that answers, and given again for 15 seconds. Messages that name paths
        or addresses of the node are left out.
        """
        examined = await self._findings.read()
        return SystemFindings(
            status=worst_of(examined.findings),
            checked_time=moment(examined.begun),
            items=[_shown(name, finding) for name, finding in examined.findings],
        )


def _shown(name: str, finding: Finding) -> CheckFinding:
    if name in LOCAL:
        message = "As it should be" if finding.state == "ok" else ON_THE_NODE
        return CheckFinding(check=name, state=finding.state, message=message, remedy=None, users=[])
    return CheckFinding(
        check=name,
        state=finding.state,
        message=finding.message,
        remedy=finding.remedy or None,
        users=[UserOfFinding(*user) for user in finding.users],
    )
