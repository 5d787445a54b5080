"""Unused rights: ``/api/policy/unused``."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Final, TypeVar

from msgspec import Meta

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.features.explain.policy_layers import RoleCode
from service.features.explain.policy_questions import WITHIN, PolicyQuestion
from service.features.reviews import unused
from service.features.reviews.api_reviews import ReviewScope
from service.features.reviews.store_unused import GivenCode, KeyWithScopes, UnusedKey
from service.features.reviews.unused import DAYS, MOST_DAYS, CheckedBy, StoredUse, Unused, read_unused
from service.features.service_accounts.scopes import sufficient_scopes, unused_scopes
from service.laboratory.analysis.sources import PastPolicies
from service.records.database.transactions import Connection, Database
from service.records.published import policy_workers
from service.records.schema.rights import Source
from service.settings import Policy as PolicySettings
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs
from service.web.messages.record_schemas import Shown, shows
from service.web.messages.schema import Id, Moment, Page, PageQuery, Schema, moment, page_answer

MOST_LOGGED: Final = 64 * 2**20
"""The maximum size in bytes of a decision log read by a request; commands have no limit."""

S = TypeVar("S", bound=Schema)


class UnusedQuery(PageQuery):
    """The number of days, including today; the page applies to each list."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS, examples=[90])] = DAYS


class UnusedAssignment(Schema):
    """An unused assignment, with its `reason` and `source`."""

    id: Id
    user_id: Id
    user_name: str
    role_id: Id
    role_code: RoleCode
    create_time: Moment | None
    valid_until: Moment | None
    reason: str | None
    source: Source
    created_by: str | None


@shows(GivenCode)
class UnusedCode(Shown):
    """A code that a role has since `beginTime`, unused by all its users."""


@shows(UnusedKey)
class UnusedApiKey(Shown):
    """An unused API key; `lastUseTime` is null for a key without any use."""


@shows(KeyWithScopes, leave_out=("needed_codes",))
class SmallerKey(Shown):
    """A person's API key, the scopes `unused` since `recordedSince`, and `proposed` ones.

    `proposed` are the needed permission codes: a key with these scopes would have sufficed. `recordedSince`
    is the creation of the key, or a later restore of the database.
    """

    unused: list[str]
    proposed: list[str]


@shows(unused.SmallerRole)
class SmallerRole(Shown):
    """A role, and `proposed`: codes that would have given the same decisions.

    Each of these codes is needed. To preview the change, send them as `permissions` to
    `PUT /api/role/{id}/permissions?dryRun=true`. `recent` are codes that the role has had for a part of the
    time only; they stay.
    """


class UnusedRights(Schema):
    """Rights from before the day `since` (UTC) without use since then, in the last `days` days.

    `recordedSince` is the beginning of the records of use. If it is later than the requested time, `since` is
    the first completely recorded day, and `days` are fewer. Before the first such day, `observed` is false,
    and the lists are empty. `checkedBy` is the basis of `roles`: `replay` of all decisions in the decision
    log, or recorded `use` of codes. `scopes` are keys of people that fewer or narrower scopes would suffice
    for; a key is judged once it is older than that day, or half of its lifetime is over. `reviewScope` is the
    `scope` for `POST /api/review`, for a review of all these `assignments`.
    """

    since: date
    days: Annotated[int, Meta(ge=0, le=MOST_DAYS, examples=[90])]
    recorded_since: Moment | None
    observed: bool
    checked_by: CheckedBy
    assignments: Page[UnusedAssignment]
    codes: Page[UnusedCode]
    keys: Page[UnusedApiKey]
    scopes: Page[SmallerKey]
    roles: Page[SmallerRole]
    review_scope: ReviewScope


def unused_answer(answer: Unused, query: UnusedQuery) -> UnusedRights:
    """Return the answer to ``query``."""

    def part(kind: type[S], items: tuple[object, ...]) -> Page[S]:
        chosen = [kind.of(each) for each in query.part(items)]
        return Page(items=chosen, page=query.page, size=query.size, total=len(items))

    return UnusedRights(
        since=answer.since,
        days=max(0, answer.days),
        recorded_since=None if answer.recorded_since is None else moment(answer.recorded_since),
        observed=answer.is_observed,
        checked_by=answer.checked_by,
        assignments=page_answer(query, answer.assignments, UnusedAssignment),
        codes=part(UnusedCode, answer.codes),
        keys=page_answer(query, answer.keys, UnusedApiKey),
        scopes=Page(
            items=[_smaller_key(key) for key in answer.scopes.items],
            page=query.page,
            size=query.size,
            total=answer.scopes.total,
        ),
        roles=part(SmallerRole, answer.roles),
        review_scope=ReviewScope(unused_days=max(1, answer.days)),
    )


def _smaller_key(key: KeyWithScopes) -> SmallerKey:
    return SmallerKey.of(
        key,
        unused=unused_scopes(key.scopes, key.needed_codes),
        proposed=sufficient_scopes(key.scopes, key.needed_codes),
    )


class UnusedOfPolicy(PolicyQuestion, at="/api/policy/unused"):
    def __init__(
        self,
        database: Database,
        live: LivePolicy,
        concurrency: ConcurrencyLimit,
        past: PastPolicies,
        settings: PolicySettings,
    ) -> None:
        super().__init__(database, live, concurrency, past)
        self._log = settings.decision_log
        self._keeps_all = settings.decision_log_allows == 1

    @needs("system:policy:read", name="getUnusedRights")
    async def on_get(self, context: RequestContext, query: UnusedQuery) -> UnusedRights:
        """List unused assignments, codes of roles, API keys and scopes of keys, and smaller roles.

        A code is used if its line allowed a request. The use counts for each role of the user that gives the
        code: of two roles with the same code, neither is unused.
        """
        policy = context.policy = self.live.current
        async with self.concurrency.turn():
            async with self.database.snapshot(within=WITHIN) as connection:
                stored = await read_unused(connection, query.days, page=query.page, size=query.size)
                keeps_all = self._keeps_all and await _is_alone(connection)
            answer = await self.concurrency.computed(self._answer, stored, policy, keeps_all)
        return unused_answer(answer, query)

    def _answer(self, stored: StoredUse, policy: Policy, keeps_all: bool) -> Unused:
        return unused.answer(stored, policy, _lines(self._log), all_kept=keeps_all)


async def _is_alone(connection: Connection) -> bool:
    """Return whether all workers run on one node; other nodes have logs of their own."""
    workers = await policy_workers.present(connection)
    return len({(host, token) for host, _, token in (each.worker.split(":", 2) for each in workers)}) <= 1


def _lines(log: object) -> Iterator[bytes]:
    """Yield the lines of a decision log that is a file and not too large."""
    if not isinstance(log, Path) or not log.is_file() or log.stat().st_size > MOST_LOGGED:
        return
    with log.open("rb") as file:
        yield from file
