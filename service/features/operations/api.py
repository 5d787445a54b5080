"""Findings of the installation, and remaining first steps: ``/api/system``."""

from functools import partial
from typing import Annotated, Any, Final

from msgspec import Meta

from service.authz.publishing.shipped import Shipped
from service.authz.publishing.sync import KnownRoute
from service.endpoints.record_endpoints import Endpoint
from service.errors import Unavailable
from service.features.operations import api_jobs, store_first_steps
from service.features.operations.api_activity import SystemActivity
from service.features.operations.diagnosis.latest import LatestFindings
from service.features.operations.diagnosis.upkeep_checks import NEW
from service.features.operations.sentences import sentence
from service.features.operations.store_first_steps import first_steps
from service.kernel.clock import now
from service.kernel.coded_sentences import Sentence
from service.operator.findings import Finding, State, ok, worst_of
from service.records.database.transactions import Database
from service.records.user_overview import oldest_user
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Id, Moment, Schema, SentenceParams, moment
from service.web.requests.routes import Routes

ON_THE_NODE: Final = sentence("details_on_node")


class UserOfFinding(Schema):
    """An account affected by a finding."""

    id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]


class CheckFinding(Schema):
    """The finding of a check.

    `state` is `ok`, `warning` (works, but may do harm), `fault` (does not work, or is a security hole) or
    `unknown` (the check was impossible). `remedy` is the recommended action, and `users` are the accounts in
    `message`. Clients translate both texts by their codes and parameters.
    """

    check: Annotated[str, Meta(examples=["clocks"])]
    state: State
    message: Annotated[str, Meta(examples=["session store +0.0 s, database +0.0 s relative to this machine"])]
    code: Annotated[str, Meta(examples=["clocks_compared"])]
    params: Annotated[SentenceParams, Meta(examples=[{"store": "+0.0", "database": "+0.0"}])]
    remedy: str | None
    remedy_code: str | None
    remedy_params: SentenceParams
    users: list[UserOfFinding]


class SystemFindings(Schema):
    """The findings of all checks, made at `checkedTime`; `status` is the worst state of them."""

    status: State
    checked_time: Moment
    items: list[CheckFinding]


class SystemFindingList(Endpoint[LatestFindings], at="/api/system/findings"):
    @needs("system:doctor:read", name="listFindings", refuses=[Unavailable])
    async def on_get(self, context: RequestContext) -> SystemFindings:
        """List the findings about the installation, as `portcullis doctor` does.

        The answering node makes the checks, and reuses their results for 15 seconds. Checks that read much
        are made again after five minutes, or by another policy, unless they have found something. Messages
        with paths or addresses of the node are omitted.
        """
        examined = await self.part.read()
        return SystemFindings(
            status=worst_of(examined.findings),
            checked_time=moment(examined.begun),
            items=[_shown(name, finding) for name, finding in examined.findings],
        )


def _shown(name: str, finding: Finding) -> CheckFinding:
    if finding.local:
        finding = (
            ok(sentence("fine_on_node")) if finding.state == "ok" else Finding(finding.state, ON_THE_NODE)
        )
    message, advice = Sentence.of(finding.message), Sentence.of(finding.remedy)
    return CheckFinding(
        check=name,
        state=finding.state,
        message=message,
        code=message.code,
        params=message.params,
        remedy=advice or None,
        remedy_code=advice.code if advice else None,
        remedy_params=advice.params if advice else {},
        users=[UserOfFinding(*user) for user in finding.users],
    )


@shows(store_first_steps.FirstSteps)
class FirstSteps(Schema):
    """The first steps already taken, derived from the stored data.

    `password`: the first administrator has a new password or another name. `role`, `user`, `resource`: at
    least one was created after the first start. `backup`: a backup was made, or others make backups
    (`database.backup_days` is 0). `isNew` is true for a week after the first start; later, findings name
    missing steps.
    """

    is_new: Annotated[bool, Meta(examples=[True])]
    password: store_first_steps.Step


class SystemFirstSteps(Responders, at="/api/system/first-steps"):
    def __init__(self, database: Database, *, backups_elsewhere: bool) -> None:
        self._database = database
        self._backups_elsewhere = backups_elsewhere

    @needs("system:doctor:read", name="getFirstSteps")
    async def on_get(self, context: RequestContext) -> FirstSteps:
        """Read the open tasks after a first start."""
        async with self._database.transaction() as connection:
            taken = await first_steps(connection)
            began = await oldest_user(connection)
        is_new = began is not None and now() - began < NEW
        return FirstSteps.of(taken, is_new=is_new, backup=taken.backup or self._backups_elsewhere)


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    latest = LatestFindings(container.settings, partial(_known, routes), container.policy.live)
    routes.serve(SystemFindingList(latest))
    elsewhere = not container.settings.database.backup_days
    steps = SystemFirstSteps(container.stores.database, backups_elsewhere=elsewhere)
    routes.serve(steps)
    routes.serve(SystemActivity(container.stores.sessions.log))
    asked = container.stores.database, container.node.scheduler
    routes.serve_all(api_jobs, *asked)


def _known(routes: Routes, _shipped: Shipped) -> list[KnownRoute]:
    """Return the guarded routes, whose lines the start has compared with the code."""
    return [
        KnownRoute(operation.object, operation.summary, operation.access) for operation in routes.operations
    ]
