"""Delegation: callers grant only codes that they hold, and edit only users who hold no more than they do.

The code of an endpoint admits the request. The policy layer ``account`` decides which acts the caller may do
on which accounts. The layer ``grant`` decides which codes the caller may grant, revoke or bind, and which
codes a user may hold whom the caller edits. This module asks the enforcer each question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from service.administration import change_log
from service.administration.events import CHANGE_BEGINS, RightsChange, Watch
from service.administration.lasting import Holding
from service.authz.engine.policy import Decision, Policy, tell_span
from service.authz.engine.rules import (
    ACCOUNT,
    ASSURANCE,
    ENDPOINT,
    GRANT,
    RESOURCE,
    SERVICE,
    UNREGISTERED,
    assured,
)
from service.authz.publishing.changes import Change
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.policy_guard import policy_guard
from service.authz.publishing.revisions import PATIENCE
from service.errors import ActOnOneself, PermissionDenied, RefreshRequired, ValidationFailed, too_weak
from service.kernel.account_acts import CLOSED_TO_ALL, CONTROL_ACTS, DEMANDED, Act, Whom, refusal_of
from service.kernel.assurance import Satisfied
from service.kernel.clock import from_seconds, rfc3339
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller, NewAccount, Target, codes_asked, oneself
from service.kernel.origin import (
    ORIGIN,
    Delegated,
    EditRequest,
    GrantQuestion,
    LastingQuestion,
    Needed,
    ObjectQuestion,
)
from service.kernel.persons import ControlAct
from service.kernel.tracing import traced
from service.kernel.write import DryRun
from service.records import account_control, accounts, factors, role_rights
from service.records.database.transactions import Connection, Database, is_rehearsal
from service.records.published import policy_revisions

_AT_ONCE: Final = 50
"""Codes decided before other requests get a turn; each takes some 50 µs."""
_ROLE_NOT_HELD: Final = sentence("role_not_held")


class DelegationCheck:
    """The codes that the caller of one change may grant, by the token and by the database.

    A code that no Button carried before the change has no line in the policy in force. The candidate policy,
    which has a line, decides about it before the change is published. A change that publishes nothing is
    denied that code. ``key_made_by`` is the creator of the caller's API key; ``ends`` are the expiries of
    codes that the caller holds for a limited time. ``watches`` surround the edits. ``directory`` is the
    directory for which the change is made: it may edit the accounts that it manages, and it stands behind no
    account.
    """

    def __init__(
        self,
        policy: Policy,
        caller: Caller,
        stored: HeldCodes,
        change: Change | None = None,
        *,
        key_made_by: int | None = None,
        ends: Mapping[str, datetime] = MappingProxyType({}),
    ) -> None:
        self.bound_to = caller.service
        self.directory: str | None = None
        self.watches: list[Watch] = []
        self._caller = caller
        self._key_made_by = key_made_by
        self.policy: Final = policy
        """The policy by which this check decides."""
        self._holding = Holding(codes_asked(caller), stored, ends)
        self._change = change
        self._asked = Delegated(policy.revision, stored.codes)
        # The command line has no login: any user who can run a command owns the installation.
        self._origin = ORIGIN.get()
        if self._origin is not None:
            self._origin.delegated = self._asked

    @property
    def stored(self) -> HeldCodes:
        """Codes that the caller held in the database when the change began."""
        return self._held[1]

    @property
    def acting_id(self) -> int | None:
        """Id of the caller, or of the creator of the caller's API key; None for the operator."""
        if self._caller.is_operator:
            return None
        return self._caller.user_id if self._key_made_by is None else self._key_made_by

    @property
    def acting_ids(self) -> frozenset[int]:
        """Ids of the caller and of the creator of the caller's API key; empty for the operator."""
        ids = () if self._caller.is_operator else (self._caller.user_id, self.acting_id)
        return frozenset(each for each in ids if each is not None)

    async def take_over(self, connection: Connection, user_ids: Collection[int], act: ControlAct) -> None:
        """Note that the caller stands behind these accounts from now on, by ``act``."""
        if self.directory is None:
            await account_control.write(connection, self.acting_ids, user_ids, act)

    @property
    def _held(self) -> tuple[HeldCodes | None, HeldCodes]:
        return self._holding.now

    async def require(self, codes: Iterable[str], why: Sentence, *, until: datetime | None = None) -> None:
        """Check that the caller may grant each of ``codes``; with ``until``, for a grant until then.

        PermissionDenied else, with ``why`` as its sentence and the codes that are lacking as ``required``:
        all of them are needed. For new codes it is raised when the change is about to be published.
        """
        asked = set(codes)
        new = self._new(asked)
        known = asked.difference(new)
        self._note(known, "all", until)
        self._require_none([denial async for denial in self._denials(known, until)], why, until)
        if new and self._change is not None:

            def check(candidate: Policy) -> None:
                if denials := list(self._denied(candidate, new, until)):
                    self._note(new, "all", until)
                    self._require_none(denials, why, until)

            self._change.ask(check)

    async def require_any(self, codes: Iterable[str], why: Sentence) -> None:
        """Check that the caller may grant any of ``codes``; PermissionDenied else, with all of them."""
        asked = sorted(set(codes))
        denials = [denial async for denial in self._denials(asked)]
        new = self._new(asked)
        if len(denials) < len(asked) or not new or self._change is None:
            self._note(asked, "any")
            if len(denials) == len(asked):
                _require_none(denials, why, needed="any")
            return

        def check(candidate: Policy) -> None:
            if len(list(self._denied(candidate, new))) == len(new):
                self._note(asked, "any")
                _require_none(denials, why, needed="any")

        self._change.ask(check)

    async def require_roles(
        self,
        connection: Connection,
        role_ids: Iterable[int],
        why: Sentence = _ROLE_NOT_HELD,
        *,
        until: datetime | None = None,
    ) -> set[str]:
        """Return the codes that these roles give, or would if all were enabled, if the caller may grant them.

        PermissionDenied else. The check holds for assigning, revoking and changing a role. ``until`` is the
        expiry of a new assignment; None if nothing is assigned.
        """
        reach = await role_rights.reach_of_roles(connection, role_ids)
        await self.require(reach, why, until=until)
        return reach

    async def require_menus(
        self, connection: Connection, menu_ids: Iterable[int], *, until: datetime | None = None
    ) -> None:
        """Check that the caller may grant the codes of all Buttons among these menus.

        PermissionDenied else. ``until`` is as for ``require_roles``.
        """
        codes = await role_rights.codes_of_menus(connection, menu_ids)
        await self.require(codes, sentence("buttons_not_held"), until=until)

    def require_service(self, action: str, service: str) -> None:
        """Check that the caller may do ``action``, one of ``ACTIONS``, with resources of ``service``.

        PermissionDenied else. A service that the change itself registers is asked of the candidate.
        """
        name = f"{service} {action}"
        why = sentence("service_not_allowed", service=service)
        if self._change is None or self.policy.rules.codes(SERVICE, name):
            self.require_object(self.policy, SERVICE, name, why)
        else:
            self._change.ask(lambda candidate: self.require_object(candidate, SERVICE, name, why))

    def require_foreign(self, field: str, service: str) -> None:
        """Check that no permission code of this service begins with ``service``; ValidationFailed else."""
        require_foreign(self.policy, field, service)

    def require_request(self, method: str, path: str, template: str) -> None:
        """Check that the caller may send a request to ``path``, which the endpoint ``template`` serves.

        For a request that makes the edits of others: PermissionDenied with the layer that would refuse the
        edit by itself.
        """
        self._asked.edits.append(EditRequest(method, path, template))
        registered = self.policy.resource_at(method, path) or UNREGISTERED
        for layer, name in ((RESOURCE, registered), (ENDPOINT, f"{method} {template}")):
            for held in self._held:
                decision = self.policy.judge(layer, name, held)
                if not decision.allowed:
                    raise PermissionDenied(
                        sentence("included_request_not_allowed", method=method, path=path), decision
                    )
        if self._origin is not None:
            satisfied = self._origin.satisfied
            _require_assurance(self.policy.judge_assurance(registered, f"{method} {template}", satisfied))

    def may_request(self, request: str) -> bool:
        """Return true if the caller may send ``request`` too, such as ``GET /api/user/list``."""
        registered = self.policy.resource_at(*request.split(" ")) or UNREGISTERED
        for layer, name in ((RESOURCE, registered), (ENDPOINT, request)):
            if not all(self.policy.judge(layer, name, held).allowed for held in self._held):
                return False
        satisfied = None if self._origin is None else self._origin.satisfied
        return self._origin is None or self.policy.judge_assurance(registered, request, satisfied).allowed

    async def target(
        self, connection: Connection, user_id: int, act: Act, *, only_reads: bool = False
    ) -> Target:
        """Return the user as a target on which the caller may do ``act``; the user need not exist.

        ``only_reads``: the caller only reads the data needed for the act.

        The layer ``account`` must allow the act on this account. On accounts of others the caller must be
        able to grant each code of the user, also those of disabled roles and Buttons. PermissionDenied else:
        a caller who sets a password could act as that user, and a caller who ends the sessions again and
        again locks that user out.
        """
        target = Target(user_id, await self._whose(connection, user_id))
        if only_reads:
            self._require_account(f"{act} {target.whom}")
        else:
            await self.require_act(connection, target, act)
        if target.whom != "self":
            reach = await role_rights.reach_of_users(connection, [user_id])
            await self.require(reach, sentence("user_not_held"))
        return target

    async def require_act(
        self, connection: Connection, target: Target, act: Act, field: str | None = None
    ) -> None:
        """Check that the caller may also do ``act`` on a target; PermissionDenied else, about ``field``.

        By some acts the caller can get to act as the target: that is noted.
        """
        self._require_account(f"{act} {target.whom}", field)
        self._require_proof(act, field)
        if target.whom != "self" and (control := CONTROL_ACTS.get(act)) is not None:
            await self.take_over(connection, [target.user_id], control)

    async def require_factors(self, connection: Connection, act: Act) -> None:
        """Check that a caller with a second factor may do ``act``, which demands two factors, on themselves.

        Callers without one pass. Their factors stay as they are until the transaction ends. Raises
        InsufficientAuthentication.
        """
        if self._caller.is_operator:
            return
        await factors.lock(connection, self._caller.user_id)
        if await factors.has_any(connection, self._caller.user_id):
            await self.require_act(connection, oneself(self._caller), act)

    def require_session(self, act: str) -> None:
        """Check that the caller may do ``act`` with the credentials of the request; PermissionDenied else."""
        self._require_account(f"{act} {self._caller.proof}")

    def _require_proof(self, act: str, field: str | None = None) -> None:
        """Check that the caller may do ``act`` with an API key of a person; other proofs have no limit."""
        if self._caller.proof == "by-personal-key":
            self._require_account(f"{act} by-personal-key", field)

    def decide_owner(self, whom: Whom) -> Decision:
        """Return whether the caller may say who owns an account: ``self`` if they are not uninvolved."""
        return self.ask(ACCOUNT, f"confirm-owner {whom}", optional=True)

    def new_account(self, values: Mapping[str, Any]) -> NewAccount:
        """Return the account with ``values`` as one that the caller may create; PermissionDenied else.

        ValidationFailed for a service that no account may be bound to.
        """
        if (service := values.get("service")) is not None:
            self.require_foreign("service", service)
        whom: Whom = "others"
        if self.bound_to is not None:
            alike = values.get("kind") == "service" and values.get("service") == self.bound_to
            whom = "same-service" if alike else "other-service"
        self._require_account(f"create {whom}", "service")
        self._require_proof("create")
        return NewAccount(values, self.acting_id)

    async def _whose(self, connection: Connection, user_id: int) -> Whom:
        if user_id == self._caller.user_id:
            return "self"
        if self.bound_to is None:
            return "others"
        known = await accounts.standing_of(connection, user_id)
        return "same-service" if known and known.service == self.bound_to else "other-service"

    def _require_account(self, name: str, field: str | None = None) -> None:
        denied = ActOnOneself if name in CLOSED_TO_ALL else PermissionDenied
        self.require_object(self.policy, ACCOUNT, name, refusal_of(name), field, denied=denied)
        if name in DEMANDED:
            self.require_demand(ACCOUNT, name)

    def require_object(
        self,
        policy: Policy,
        layer: str,
        name: str,
        why: Sentence,
        field: str | None = None,
        *,
        denied: type[PermissionDenied | ActOnOneself] = PermissionDenied,
    ) -> None:
        """Check that ``policy`` allows the caller; raises ``denied`` else, with the sentence ``why``."""
        decisions = (policy.judge(layer, name, held) for held in self._held)
        denial = next((decision for decision in decisions if not decision.allowed), None)
        if denial is not None or policy is self.policy:
            self._asked.objects[ObjectQuestion(layer, name)] = None
        if denial is not None:
            raise denied(why, denial, field=field)

    def ask(self, layer: str, name: str, *, optional: bool = False) -> Decision:
        """Return the decision about the caller: the denial if the token or the database yields a denial.

        An ``optional`` denial refuses nothing by itself. The event of the change omits it, since a replay
        would otherwise deny an allowed change.
        """
        by_token, by_database = (self.policy.judge(layer, name, held) for held in self._held)
        decision = by_database if by_token.allowed else by_token
        if decision.allowed or not optional:
            self._asked.objects[ObjectQuestion(layer, name)] = None
        return decision

    def decide_for(self, layer: str, name: str, held: HeldCodes | Satisfied) -> Decision:
        """Return the decision of the same policy about another user, who holds or satisfies ``held``."""
        return self.policy.judge(layer, name, held)

    async def grants_roles(self, connection: Connection, role_ids: Iterable[int], held: HeldCodes) -> bool:
        """Return whether another user, who keeps holding ``held``, may grant all codes of these roles."""
        reach = await role_rights.reach_of_roles(connection, role_ids)
        return all(self.policy.judge(GRANT, code, held).allowed for code in reach)

    def of_ceiling(self, codes: Iterable[str]) -> DelegationCheck:
        """Return the check of a directory, which may grant ``codes`` and nothing else.

        All later questions of the change about grants are decided by these codes, also in a replay of its
        event.
        """
        check = DelegationCheck.__new__(DelegationCheck)  # a copy: no question of the operator's own class
        held = HeldCodes(codes)
        vars(check).update(vars(self), _holding=Holding(held, held, {}), watches=[])
        self._asked.ceiling = frozenset(codes)
        return check

    @contextmanager
    def tentatively(self) -> Iterator[None]:
        """Let the block ask; a denial removes the questions of the block from the event of the change.

        The change goes on without them. A replay of its event would otherwise deny an allowed change.
        """
        asked, lasting = dict(self._asked.grants), dict(self._asked.lasting)
        try:
            yield
        except PermissionDenied:
            self._asked.grants, self._asked.lasting = asked, lasting
            raise

    async def beyond(
        self, connection: Connection, ceiling: Collection[str], role_ids: Iterable[int]
    ) -> list[str]:
        """Return the codes of these roles that a directory with that ceiling may not grant, in order."""
        held = HeldCodes(ceiling)
        reach = await role_rights.reach_of_roles(connection, role_ids)
        return sorted(code for code in reach if not self.policy.judge(GRANT, code, held).allowed)

    @staticmethod
    def provisioned(user_id: int) -> Target:
        """Return a user known to a directory, as a target of the directory's edits."""
        return Target(user_id, "others")

    @staticmethod
    def author(user_id: int) -> Target:
        """Return the author of an approved request, as a target that is assigned the requested role."""
        return Target(user_id, "others")

    async def require_reviewed(
        self, connection: Connection, user_ids: Collection[int], role_ids: Collection[int]
    ) -> None:
        """Check that the caller may have these roles revoked from these users; PermissionDenied else.

        For a review, which asks others: some of the users may be the caller.
        """
        for whom in ("others",) if self.bound_to is None else ("same-service", "other-service"):
            self._require_account(f"set-roles {whom}")
        self._require_proof("set-roles")
        reach = await role_rights.reach_of_users(connection, user_ids)
        reach |= await role_rights.reach_of_roles(connection, role_ids)
        await self.require(reach, sentence("review_not_held"))

    @staticmethod
    def reviewed(user_id: int) -> Target:
        """Return a user whose assignment a review revokes or shortens, as a target of the edit."""
        return Target(user_id, "others")

    def require_demand(self, layer: str, name: str) -> None:
        """Check that the caller has satisfied the demand of an object; raises the refusal else."""
        if self._origin is not None:
            self._asked.objects[ObjectQuestion(ASSURANCE, assured(layer, name))] = None
            _require_assurance(self.policy.judge(ASSURANCE, assured(layer, name), self._origin.satisfied))

    def _new(self, codes: Iterable[str]) -> list[str]:
        """Return those of ``codes``, sorted, that can only be asked of the candidate."""
        if self._change is None:
            return []
        return sorted(code for code in codes if not self.policy.rules.of(GRANT, code))

    async def _denials(self, codes: Iterable[str], until: datetime | None = None) -> AsyncIterator[Decision]:
        """Yield the denial of each code that the caller may not grant, in order, with turns for others."""
        asked = sorted(set(codes))
        with traced(f"decide {GRANT}", {"portcullis.decision.questions": len(asked)}) as span:
            for start in range(0, len(asked), _AT_ONCE):
                if start:
                    await asyncio.sleep(0)
                for denial in self._denied(self.policy, asked[start : start + _AT_ONCE], until):
                    if span is not None:
                        tell_span(span, denial)
                    yield denial

    def _denied(
        self, policy: Policy, codes: Iterable[str], until: datetime | None = None
    ) -> Iterator[Decision]:
        both = self._holding.until(until)
        for code in codes:
            decisions = (policy.judge(GRANT, code, held) for held in both)
            if (
                denial := next((decision for decision in decisions if not decision.allowed), None)
            ) is not None:
                yield denial

    def _note(self, codes: Collection[str], needed: Needed, until: datetime | None = None) -> None:
        """Note a question for the decision log; not one that only the candidate has allowed.

        No policy before the change could answer it.
        """
        if not codes:
            return
        question = GrantQuestion(tuple(sorted(codes)), needed)
        _, stored = self._holding.until(until)
        if stored == self._holding.by_database:
            self._asked.grants[question] = None
        else:
            self._asked.lasting[LastingQuestion(*question, stored.codes)] = None

    def _require_none(self, denials: Sequence[Decision], why: Sentence, until: datetime | None) -> None:
        if denials:
            denied = [denial.object for denial in denials]
            expiry = self._holding.expiry(self.policy, denied, until)
            _require_none(denials, why, expiry=expiry)


def _require_assurance(decision: Decision) -> None:
    if not decision.allowed:
        raise too_weak(decision)


def require_foreign(policy: Policy, field: str, service: str) -> None:
    """Check that no permission code of ``policy`` itself begins with ``service``; ValidationFailed else."""
    if service in policy.own_beginnings:
        raise ValidationFailed((field, sentence("own_prefix")))


def _require_none(
    denials: Sequence[Decision], why: Sentence, needed: Needed = "all", expiry: datetime | None = None
) -> None:
    if denials:
        stated = sentence("not_held", why=why, needed=needed)
        if expiry is not None:
            stated = sentence("not_held_until", why=why, until=rfc3339(expiry))
        raise PermissionDenied(stated, denials[0], required=[each.object for each in denials], needed=needed)


class Delegation:
    """Says what callers may grant, by the policy in force."""

    def __init__(self, live: LivePolicy, instant: Callable[[], datetime] | None = None) -> None:
        """``instant`` returns that of which rights are read; without it, the database's now."""
        self._live = live
        self._instant = instant
        self._guard = policy_guard(live)

    @asynccontextmanager
    async def changing(self, connection: Connection, dry_run: DryRun | None = None) -> AsyncIterator[None]:
        """Let the block change roles and users, in a transaction that publishes nothing.

        Conflict, which rolls back, if no administrator would remain, or if it would break an invariant, of
        which a ``dry_run`` is only warned.
        """
        async with self.keeping_an_administrator(connection), self._guard.keeping(connection, dry_run):
            yield
            await role_rights.settle(connection)

    def keeping_an_administrator(
        self, connection: Connection, change: Change | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Let a block change rights or factors; see ``PolicyGuard``."""
        return self._guard.keeping_an_administrator(connection, change)

    async def check(
        self, connection: Connection, caller: Caller, change: Change | None = None
    ) -> DelegationCheck:
        """Return the check of codes that ``caller`` may grant; lock all rights until the transaction ends.

        Rights may have changed while the request waited, so they are read again behind the lock. A ``change``
        of the policy takes the lock of the policy first. The newest published policy decides, so a Button
        created by another worker has its line. Raises RefreshRequired if the caller has been deleted,
        disabled or banned meanwhile. Raises Unavailable if this worker can't load that policy within
        ``PATIENCE`` seconds.
        """
        await role_rights.lock(connection)
        at = None if self._instant is None else self._instant()
        held = await role_rights.of_enabled_user(connection, caller.user_id, at)
        if held is None:
            raise RefreshRequired
        await change_log.changes_rights(connection)
        policy = await self._newest(connection)
        # The key of an agent is not the person's: what the agent does counts as done by the person.
        key_id = caller.key_id if caller.agent is None else None
        maker = None if key_id is None else await accounts.maker_of_key(connection, key_id)
        # Few have anything that begins or ends, and only theirs is read.
        ends = await role_rights.ends_of(connection, caller.user_id, at) if held.changes_at else {}
        stored = HeldCodes(held.permissions)
        check = DelegationCheck(policy, caller, stored, change, key_made_by=maker, ends=ends)
        now, days = from_seconds(self._live.instant()), self._live.takeover_days
        begun = RightsChange(check.acting_ids, policy, now, days, check.watches)
        await CHANGE_BEGINS.emit(connection, begun)
        return check

    async def of_own_account(self, connection: Connection, caller: Caller) -> DelegationCheck:
        """Return the check for edits of the caller's own account, by the newest published policy.

        It takes no lock: it grants nothing, and the rights of others do not depend on it. Raises as ``check``
        does.
        """
        at = None if self._instant is None else self._instant()
        held = await role_rights.of_enabled_user(connection, caller.user_id, at)
        if held is None:
            raise RefreshRequired
        return DelegationCheck(await self._newest(connection), caller, HeldCodes(held.permissions))

    async def recheck_rights(
        self, database: Database, connection: Connection, caller: Caller, check: DelegationCheck
    ) -> None:
        """Raise RefreshRequired if an urgent act during a bulk edit revoked rights of its caller.

        Call it after ``role_rights.settle``. It reads the committed rights in ``database``, since the edit
        itself may have revoked rights of the caller. Dry runs are not checked: rights go on
        changing during them.
        """
        if caller.is_operator or role_rights.pace_of(connection) != "bulk" or is_rehearsal(connection):
            return
        at = self._instant() if self._instant else None
        active = await role_rights.active_users(database, [caller.user_id], at)
        if not any(check.stored.codes <= set(held.permissions) for held in active):
            raise RefreshRequired

    async def _newest(self, connection: Connection) -> Policy:
        latest = await policy_revisions.latest(connection)
        return await self._live.at_least(0 if latest is None else latest.revision, within=PATIENCE)


class SignInDelegation(Delegation):
    """Delegation for changes caused by a sign-in, before there is a caller who could grant."""

    async def check(
        self, connection: Connection, caller: Caller, change: Change | None = None
    ) -> DelegationCheck:
        """Return a check that grants no code; ``of_ceiling`` derives the check of a directory."""
        await role_rights.lock(connection)
        return DelegationCheck(await self._newest(connection), caller, HeldCodes(()), change)
